// SPDX-License-Identifier: Apache-2.0
#include "simulator/driver/segment_heap.h"

#include <sys/mman.h>

#include <algorithm>
#include <iterator>

#include "simulator/driver/driver.h"
#include "simulator/driver/physical_memory.h"

namespace gputrace::sim {

uint64_t DeviceSource::Take(uint64_t size) {
  Device& device = *TheDriver().devices[static_cast<size_t>(device_)];
  if (!device.Charge(size)) return 0;
  const auto offset = device.memory->Take(size);
  const uint64_t address = offset ? device.memory->Map(*offset, size, PROT_READ | PROT_WRITE) : 0;
  if (address != 0) {
    TheDriver().segments[address] = {device_, size, *offset};
    return address;
  }
  if (offset) device.memory->Return(*offset, size);
  device.Discharge(size);
  return 0;
}

void DeviceSource::Return(uint64_t address, uint64_t size) {
  Device& device = *TheDriver().devices[static_cast<size_t>(device_)];
  ReleaseAddresses(address, size);
  device.memory->Return(TheDriver().segments[address].offset, size);
  TheDriver().segments.erase(address);
  device.Discharge(size);
}

uint64_t HostSource::Take(uint64_t size) { return MapAnonymous(size); }
void HostSource::Return(uint64_t address, uint64_t size) { ReleaseAddresses(address, size); }

SegmentHeap::~SegmentHeap() {
  for (const auto& [address, size] : segments_) source_->Return(address, size);
}

uint64_t SegmentHeap::BlockSize(uint64_t size) const {
  const bool exclusive = large_blocks_ == LargeBlocks::kExclusive && size > segment_size_ / 2;
  return RoundUp(size, exclusive ? kGranularity : kBlockAlignment);
}

uint64_t SegmentHeap::AllocateReserved(uint64_t size) {
  return free_.Take(BlockSize(size)).value_or(0);
}

uint64_t SegmentHeap::Allocate(uint64_t size) {
  if (const uint64_t block = AllocateReserved(size)) return block;
  const uint64_t exact = RoundUp(size, kGranularity);
  if (exact < size) return 0;
  // A nearly full card may have room for the request, but not for a whole segment.
  for (const uint64_t segment : {size <= segment_size_ / 2 ? segment_size_ : exact, exact}) {
    if (segment > max_reserved - std::min(max_reserved, reserved_)) continue;
    const uint64_t address = source_->Take(segment);
    if (address == 0) continue;
    segments_[address] = segment;
    reserved_ += segment;
    reserved_high_ = std::max(reserved_high_, reserved_);
    free_.Insert(address, segment, address, address + segment);
    free_.TakeAt(address, BlockSize(size));
    return address;
  }
  return 0;
}

void SegmentHeap::Free(uint64_t address, uint64_t size) {
  const auto segment = std::prev(segments_.upper_bound(address));
  free_.Insert(address, BlockSize(size), segment->first, segment->first + segment->second);
}

void SegmentHeap::FreeAndRelease(uint64_t address, uint64_t size) {
  Free(address, size);
  ReleaseSegment(std::prev(segments_.upper_bound(address)));
}

bool SegmentHeap::ReleaseSegment(std::map<uint64_t, uint64_t>::iterator segment) {
  const auto [address, size] = *segment;
  if (!free_.TakeAt(address, size)) return false;
  segments_.erase(segment);
  reserved_ -= size;
  source_->Return(address, size);
  return true;
}

void SegmentHeap::ReleaseUnused(uint64_t keep) {
  for (auto segment = segments_.begin(); segment != segments_.end() && reserved_ > keep;) {
    const auto candidate = segment++;
    if (reserved_ - candidate->second >= keep) ReleaseSegment(candidate);
  }
}

}  // namespace gputrace::sim

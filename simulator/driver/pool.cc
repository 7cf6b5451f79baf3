// SPDX-License-Identifier: Apache-2.0
#include "simulator/driver/pool.h"

#include <algorithm>

#include "simulator/driver/driver.h"

namespace gputrace::sim {
namespace {

// What a pool takes of the device at a time. Assumed: public reports of a first allocation show 32
// MiB.
constexpr uint64_t kPoolSegment = 32 * kMiB;

std::unique_ptr<SegmentSource> SourceOf(int device) {
  if (device < 0) return std::make_unique<HostSource>();
  return std::make_unique<DeviceSource>(device);
}

}  // namespace

Pool::Pool(const CUmemPoolProps& pool_props, int pool_device)
    : props(pool_props),
      device(pool_device),
      heap(SourceOf(pool_device), kPoolSegment, SegmentHeap::LargeBlocks::kShared) {
  if (props.maxSize != 0) heap.max_reserved = RoundUp(props.maxSize, kGranularity);
}

uint64_t Pool::Allocate(uint64_t size, const Timeline& timeline) {
  Settle();
  uint64_t address = TakeFreed(size, timeline);
  if (address == 0) address = heap.Allocate(size);
  if (address == 0 && reuse[2] != 0) {
    // The driver may make the allocation wait for frees of other streams. Such a wait is unseen
    // here: what those streams have been given to do is done, or runs on regardless of this memory.
    for (const Freed& freed : freed_) heap.Free(freed.address, freed.size);
    freed_.clear();
    address = heap.Allocate(size);
  }
  if (address == 0) return 0;
  used += RoundUp(size, kBlockAlignment);
  used_high = std::max(used_high, used);
  return address;
}

void Pool::Free(uint64_t address, uint64_t size) {
  used -= RoundUp(size, kBlockAlignment);
  heap.Free(address, size);
}

void Pool::FreeInOrder(uint64_t address, uint64_t size, Moment when) {
  used -= RoundUp(size, kBlockAlignment);
  freed_.push_back({address, size, std::move(when)});
}

bool Pool::IsOrderedAfter(const Timeline& timeline, const Moment& when) const {
  if (when.timeline.get() == &timeline) return true;
  const auto known = timeline.dependencies.find(when.timeline->id);
  return reuse[0] != 0 && known != timeline.dependencies.end() && known->second >= when.ticket;
}

uint64_t Pool::TakeFreed(uint64_t size, const Timeline& timeline) {
  const uint64_t block = RoundUp(size, kBlockAlignment);
  for (auto freed = freed_.rbegin(); freed != freed_.rend(); ++freed) {
    if (RoundUp(freed->size, kBlockAlignment) != block || !IsOrderedAfter(timeline, freed->when)) {
      continue;
    }
    const uint64_t address = freed->address;
    freed_.erase(std::next(freed).base());
    return address;
  }
  return 0;
}

void Pool::Settle() {
  std::erase_if(freed_, [this](const Freed& freed) {
    if (freed.when.timeline->observed < freed.when.ticket) return false;
    heap.Free(freed.address, freed.size);
    return true;
  });
}

void Pool::OnSynchronize() {
  Settle();
  heap.ReleaseUnused(release_threshold);
}

void Pool::TrimTo(uint64_t keep) {
  Settle();
  heap.ReleaseUnused(keep);
}

void SynchronizePools() {
  for (const auto& pool : TheDriver().pools.All()) pool->OnSynchronize();
}

CUresult PoolDevice(const CUmemLocation& location, int* device) {
  switch (location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE: {
      Device* found = nullptr;
      GPUSIM_TRY(FindDevice(location.id, &found));
      *device = found->ordinal;
      return CUDA_SUCCESS;
    }
    case CU_MEM_LOCATION_TYPE_NONE:
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
      *device = -1;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace gputrace::sim

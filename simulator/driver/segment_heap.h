// SPDX-License-Identifier: Apache-2.0
// Blocks cut out of larger segments, as drivers do for small requests and for pools.
#ifndef GPUTRACE_SIMULATOR_DRIVER_SEGMENT_HEAP_H_
#define GPUTRACE_SIMULATOR_DRIVER_SEGMENT_HEAP_H_

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "simulator/driver/ranges.h"

namespace gputrace::sim {

// Where segments come from.
class SegmentSource {
 public:
  virtual ~SegmentSource() = default;
  // Memory of a multiple of the granularity; 0 if there is not so much.
  virtual uint64_t Take(uint64_t size) = 0;
  virtual void Return(uint64_t address, uint64_t size) = 0;
};

// A segment of a device.
struct DeviceSegment {
  int device = 0;
  uint64_t size = 0;
  uint64_t offset = 0;  // within the device's memory
};

// Of a device: takes of its memory and maps it.
class DeviceSource final : public SegmentSource {
 public:
  explicit DeviceSource(int device) : device_(device) {}
  uint64_t Take(uint64_t size) override;
  void Return(uint64_t address, uint64_t size) override;

 private:
  int device_;
};

// Of the host.
class HostSource final : public SegmentSource {
 public:
  uint64_t Take(uint64_t size) override;
  void Return(uint64_t address, uint64_t size) override;
};

// Every block is aligned to this; what lies in between is lost. Assumed of linear memory (the
// header only promises that any type is aligned), seen in public traces.
inline constexpr uint64_t kBlockAlignment = 512;

// Not thread-safe: used under the driver's lock.
class SegmentHeap {
 public:
  enum class LargeBlocks {
    kExclusive,  // a large block has a segment to itself, to its last byte
    kShared,     // what is left of its segment, and all of it once it is freed, is for any block
  };
  // Requests of at most half a segment share segments of that size; larger ones get a segment of
  // whole granules.
  SegmentHeap(std::unique_ptr<SegmentSource> source, uint64_t segment_size,
              LargeBlocks large_blocks)
      : source_(std::move(source)), segment_size_(segment_size), large_blocks_(large_blocks) {}
  ~SegmentHeap();
  SegmentHeap(const SegmentHeap&) = delete;
  SegmentHeap& operator=(const SegmentHeap&) = delete;

  // 0 if the source has no more.
  uint64_t Allocate(uint64_t size);
  // Only from what is already here.
  uint64_t AllocateReserved(uint64_t size);
  // `size` as it was asked for.
  void Free(uint64_t address, uint64_t size);
  // The same, and the segment goes back if nothing is left in it.
  void FreeAndRelease(uint64_t address, uint64_t size);

  // Gives segments without a block back until `keep` bytes are left.
  void ReleaseUnused(uint64_t keep);

  uint64_t reserved() const { return reserved_; }
  uint64_t reserved_high() const { return reserved_high_; }
  void ResetReservedHigh() { reserved_high_ = reserved_; }
  uint64_t max_reserved = UINT64_MAX;

 private:
  uint64_t BlockSize(uint64_t size) const;
  bool ReleaseSegment(std::map<uint64_t, uint64_t>::iterator segment);

  const std::unique_ptr<SegmentSource> source_;
  const uint64_t segment_size_;
  const LargeBlocks large_blocks_;
  uint64_t reserved_ = 0;
  uint64_t reserved_high_ = 0;
  std::map<uint64_t, uint64_t> segments_;  // size by address
  FreeRanges free_;
};

}  // namespace gputrace::sim

#endif  // GPUTRACE_SIMULATOR_DRIVER_SEGMENT_HEAP_H_

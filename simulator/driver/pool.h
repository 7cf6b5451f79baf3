// SPDX-License-Identifier: Apache-2.0
// A memory pool of the stream-ordered allocator.
#ifndef GPUTRACE_SIMULATOR_DRIVER_POOL_H_
#define GPUTRACE_SIMULATOR_DRIVER_POOL_H_

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "simulator/driver/cuda_api.h"
#include "simulator/driver/segment_heap.h"
#include "simulator/driver/timeline.h"

namespace gputrace::sim {

// Memory that was freed in stream order stays out of reach of other streams until the program has
// synchronised with the free, or until their stream waits for it. Not thread-safe: used under the
// driver's lock.
struct Pool {
  // `device` is -1 for pools on the host.
  Pool(const CUmemPoolProps& pool_props, int pool_device);

  // 0 if there is not so much memory. `timeline` is that of the stream which allocates.
  uint64_t Allocate(uint64_t size, const Timeline& timeline);
  void Free(uint64_t address, uint64_t size);
  void FreeInOrder(uint64_t address, uint64_t size, Moment when);

  // Takes back what was freed at moments that the program has observed.
  void Settle();
  // The same, then gives memory back down to the release threshold. What the header says of the
  // next synchronisation of a stream, an event or a context.
  void OnSynchronize();
  void TrimTo(uint64_t keep);

  CUmemPoolProps props;
  int device;
  bool is_default = false;
  bool imported = false;
  uint64_t release_threshold = 0;
  // CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES and the two after it.
  int reuse[3] = {1, 1, 1};
  uint64_t used = 0;
  uint64_t used_high = 0;
  SegmentHeap heap;
  std::map<int, unsigned> access;  // CUmemAccess_flags by device

 private:
  struct Freed {
    uint64_t address;
    uint64_t size;
    Moment when;
  };
  uint64_t TakeFreed(uint64_t size, const Timeline& timeline);
  bool IsOrderedAfter(const Timeline& timeline, const Moment& when) const;

  std::vector<Freed> freed_;
};

// All pools, after the program has synchronised with something.
void SynchronizePools();

// The device of a pool's location; -1: host. CUDA_ERROR_INVALID_DEVICE if there is none such.
CUresult PoolDevice(const CUmemLocation& location, int* device);

}  // namespace gputrace::sim

#endif  // GPUTRACE_SIMULATOR_DRIVER_POOL_H_

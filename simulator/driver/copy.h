// SPDX-License-Identifier: Apache-2.0
// Copies and fills: what they do, and how they are put on streams or into graphs.
#ifndef GPUTRACE_SIMULATOR_DRIVER_COPY_H_
#define GPUTRACE_SIMULATOR_DRIVER_COPY_H_

#include <cstdint>

#include "simulator/driver/cuda_api.h"
#include "simulator/driver/graph.h"
#include "simulator/driver/stream.h"

namespace gputrace::sim {

// Whether [address, address + size) is memory of the driver, all of it within one allocation (or
// within mappings side by side) that may be read, or written. Zero bytes are.
enum class Use { kRead, kWrite };
bool IsDriverMemory(uint64_t address, uint64_t size, Use use);
// The same for what may be any memory of the process as well: false only if it lies partly within
// an allocation, or within reserved addresses that nothing is mapped to.
bool IsAnyMemory(uint64_t address, uint64_t size, Use use);

// A box of bytes to copy. Rows of `width` bytes are `pitch` apart, planes `plane` apart.
struct CopyPlan {
  uint64_t source = 0;
  uint64_t source_pitch = 0;
  uint64_t source_plane = 0;
  uint64_t destination = 0;
  uint64_t destination_pitch = 0;
  uint64_t destination_plane = 0;
  uint64_t width = 0;
  uint64_t height = 1;
  uint64_t depth = 1;
};
void Run(const CopyPlan& plan);

// Checks the parameters and makes a plan of them.
CUresult PlanCopy(const CUDA_MEMCPY3D& parameters, CopyPlan* plan);

struct FillPlan {
  uint64_t address = 0;
  uint64_t pitch = 0;
  unsigned value = 0;
  unsigned element_size = 1;  // 1, 2 or 4
  uint64_t width = 0;         // in elements
  uint64_t height = 1;
  bool anonymous = false;  // of ZeroFill
};
void Run(const FillPlan& plan);
CUresult PlanFill(const CUDA_MEMSET_NODE_PARAMS& parameters, FillPlan* plan);

// A copy by a call: checks it, and performs it on a stream. Takes the lock.
CUresult Copy(const CUDA_MEMCPY3D& parameters, CUstream stream, bool wait);

// Does something on a stream: submits it, or adds a node while the stream is capturing. With `wait`
// the caller waits until it is done, which a capture does not allow. Needs the driver's lock.
CUresult Perform(CUstream handle, std::unique_ptr<GraphNode> node, bool wait);

}  // namespace gputrace::sim

#endif  // GPUTRACE_SIMULATOR_DRIVER_COPY_H_

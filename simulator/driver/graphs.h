// SPDX-License-Identifier: Apache-2.0
// Stream-ordered calls in a capturing stream become graph nodes.
#ifndef GPUTRACE_SIMULATOR_DRIVER_GRAPHS_H_
#define GPUTRACE_SIMULATOR_DRIVER_GRAPHS_H_

#include "simulator/driver/state.h"

namespace gputrace::sim {

// Adds an allocation node: nothing is allocated, but the address is fixed.
CUresult CaptureAllocation(Stream* stream, size_t size, CUdeviceptr* address);
CUresult CaptureFree(Stream* stream, CUdeviceptr address);

}  // namespace gputrace::sim

#endif  // GPUTRACE_SIMULATOR_DRIVER_GRAPHS_H_

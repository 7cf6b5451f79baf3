// SPDX-License-Identifier: Apache-2.0
// Start of the driver, and what becomes of it after fork.
#ifndef GPUTRACE_SIMULATOR_DRIVER_LIFETIME_H_
#define GPUTRACE_SIMULATOR_DRIVER_LIFETIME_H_

#include "simulator/driver/cuda_api.h"

namespace gputrace::sim {

// CUDA_ERROR_NOT_INITIALIZED before cuInit, and in a child that was forked after it: a process
// cannot inherit a GPU (assumed; the code is what real programs report).
CUresult CheckUsable();

}  // namespace gputrace::sim

#endif  // GPUTRACE_SIMULATOR_DRIVER_LIFETIME_H_

// SPDX-License-Identifier: Apache-2.0
// Failures on demand (GPUSIM_FAIL).
#ifndef GPUTRACE_SIMULATOR_DRIVER_FAILURES_H_
#define GPUTRACE_SIMULATOR_DRIVER_FAILURES_H_

#include <cstdint>

#include "simulator/driver/cuda_api.h"

namespace gputrace::sim {

// What the `call_number`th call (from 1) of entry `index` is to fail with; CUDA_SUCCESS: it is to
// run. Thread-safe; costs nothing if there are no rules.
CUresult InjectedFailure(unsigned index, uint64_t call_number);

}  // namespace gputrace::sim

#endif  // GPUTRACE_SIMULATOR_DRIVER_FAILURES_H_

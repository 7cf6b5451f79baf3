// SPDX-License-Identifier: Apache-2.0
// Attributes of functions and kernels.
#ifndef GPUTRACE_SIMULATOR_DRIVER_FUNCTION_ATTRIBUTES_H_
#define GPUTRACE_SIMULATOR_DRIVER_FUNCTION_ATTRIBUTES_H_

#include <map>

#include "simulator/driver/cuda_api.h"

namespace gputrace::sim {

// What was set, or what a small kernel has. CUDA_ERROR_INVALID_VALUE for an unknown attribute.
CUresult FunctionAttribute(const std::map<int, int>& set, CUfunction_attribute attribute,
                           int* value);

// CUDA_ERROR_INVALID_VALUE for an attribute that cannot be set.
CUresult SetFunctionAttribute(std::map<int, int>* set, CUfunction_attribute attribute, int value);

}  // namespace gputrace::sim

#endif  // GPUTRACE_SIMULATOR_DRIVER_FUNCTION_ATTRIBUTES_H_

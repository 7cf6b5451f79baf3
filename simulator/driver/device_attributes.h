// SPDX-License-Identifier: Apache-2.0
// The attributes of a device.
#ifndef GPUTRACE_SIMULATOR_DRIVER_DEVICE_ATTRIBUTES_H_
#define GPUTRACE_SIMULATOR_DRIVER_DEVICE_ATTRIBUTES_H_

#include "simulator/driver/cuda_api.h"

namespace gputrace::sim {

// CUDA_ERROR_INVALID_VALUE for an attribute that cuda.h does not know. `ordinal` is valid.
CUresult DeviceAttribute(CUdevice_attribute attribute, CUdevice ordinal, int* value);

}  // namespace gputrace::sim

#endif  // GPUTRACE_SIMULATOR_DRIVER_DEVICE_ATTRIBUTES_H_

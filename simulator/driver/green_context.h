// SPDX-License-Identifier: Apache-2.0
// Green contexts: parts of a device's processors, over its primary context.
#ifndef GPUTRACE_SIMULATOR_DRIVER_GREEN_CONTEXT_H_
#define GPUTRACE_SIMULATOR_DRIVER_GREEN_CONTEXT_H_

#include <memory>

#include "simulator/driver/driver.h"

namespace gputrace::sim {

struct GreenContext {
  Context* context = nullptr;  // the device's primary one, which it retains
  CUdevResource resource = {};
  uint64_t id = 0;
};

// Makes a stream of a context; `green` may be null.
CUstream AddStream(Context* context, unsigned flags, int priority,
                   std::shared_ptr<GreenContext> green);

}  // namespace gputrace::sim

#endif  // GPUTRACE_SIMULATOR_DRIVER_GREEN_CONTEXT_H_

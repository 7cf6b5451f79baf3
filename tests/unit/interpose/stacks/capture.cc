// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/interpose/stacks/capture.h"

namespace gputrace::interpose {

bool Capture(CapturedStack* stack, uint32_t max_depth) { return CaptureNative(stack, max_depth); }

}  // namespace gputrace::interpose

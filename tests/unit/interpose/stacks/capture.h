// SPDX-License-Identifier: Apache-2.0
// CaptureNative as a library's function: the unwinder leaves out the library that it is in.
#ifndef GPUTRACE_TESTS_UNIT_INTERPOSE_STACKS_CAPTURE_H_
#define GPUTRACE_TESTS_UNIT_INTERPOSE_STACKS_CAPTURE_H_

#include "interpose/stacks/unwind.h"

namespace gputrace::interpose {

__attribute__((visibility("default"))) bool Capture(CapturedStack* stack, uint32_t max_depth);

}  // namespace gputrace::interpose

#endif  // GPUTRACE_TESTS_UNIT_INTERPOSE_STACKS_CAPTURE_H_

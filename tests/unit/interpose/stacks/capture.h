// SPDX-License-Identifier: Apache-2.0
// Unwinder as a library's function: it leaves out the library that it is in.
#ifndef GPUTRACE_TESTS_UNIT_INTERPOSE_STACKS_CAPTURE_H_
#define GPUTRACE_TESTS_UNIT_INTERPOSE_STACKS_CAPTURE_H_

#include "interpose/stacks/captured_stack.h"

namespace gputrace::interpose {

// With an unwinder of the calling thread's own, which lives as long as the thread. The innermost
// frame is the caller's.
__attribute__((visibility("default"))) bool Capture(CapturedStack* stack, uint32_t max_depth);
// The next stacks are given out with all their pcs, as if they were seen for the first time.
__attribute__((visibility("default"))) void ForgetNames();

// Whether objects are found by the loader's _dl_find_object (as at first) or by dl_iterate_phdr.
__attribute__((visibility("default"))) void UseFindObject(bool use);

// What the override of dlclose does.
__attribute__((visibility("default"))) void UnloadObject(void* handle);

}  // namespace gputrace::interpose

#endif  // GPUTRACE_TESTS_UNIT_INTERPOSE_STACKS_CAPTURE_H_

// SPDX-License-Identifier: Apache-2.0
// Unwinding by libunwind: understands all frame information, at a hundred times the cost.
#ifndef GPUTRACE_INTERPOSE_STACKS_SLOW_UNWIND_H_
#define GPUTRACE_INTERPOSE_STACKS_SLOW_UNWIND_H_

#include <cstdint>

namespace gputrace::interpose {

// Return addresses of the calling thread's stack, innermost first, without the innermost ones that
// are this library's; up to `capacity`, which is at most 512. Returns how many. May take a lock of
// the loader and map memory; keeps errno.
uint32_t UnwindSlowly(uint64_t* pcs, uint32_t capacity);

}  // namespace gputrace::interpose

#endif  // GPUTRACE_INTERPOSE_STACKS_SLOW_UNWIND_H_

// SPDX-License-Identifier: Apache-2.0
// Native call stacks of the calling thread.
#ifndef GPUTRACE_INTERPOSE_STACKS_UNWIND_H_
#define GPUTRACE_INTERPOSE_STACKS_UNWIND_H_

#include <cstdint>

#include "trace/format.h"

namespace gputrace::interpose {

struct CapturedStack {
  uint32_t depth;
  bool truncated;                       // there were more frames than asked for
  uint64_t hash;                        // of pcs, never 0
  uint64_t pcs[trace::kMaxStackDepth];  // return addresses, innermost first; none of this library's
};

// Unwinds the caller's stack by its call frame information; up to `max_depth` frames. False if
// nothing could be read. May take a lock of the loader and map memory the first time it meets code;
// keeps errno. Not for signal handlers that interrupt itself.
bool CaptureNative(CapturedStack* stack, uint32_t max_depth);

}  // namespace gputrace::interpose

#endif  // GPUTRACE_INTERPOSE_STACKS_UNWIND_H_

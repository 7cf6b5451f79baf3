// SPDX-License-Identifier: Apache-2.0
// The calling thread's current context, as a dictionary id.
#ifndef GPUTRACE_INTERPOSE_RECORD_CONTEXTS_H_
#define GPUTRACE_INTERPOSE_RECORD_CONTEXTS_H_

#include <cstdint>

#include "interpose/record/thread_state.h"

namespace gputrace::interpose {

// Asks the driver if that is due, and then defines what it meets first: the context, and with the
// first one the devices and the driver. 0 if there is no current context.
uint32_t CurrentContext(ThreadState* state);

}  // namespace gputrace::interpose

#endif  // GPUTRACE_INTERPOSE_RECORD_CONTEXTS_H_

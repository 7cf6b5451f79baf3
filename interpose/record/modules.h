// SPDX-License-Identifier: Apache-2.0
// Which libraries are loaded where: what stacks are symbolised by.
#ifndef GPUTRACE_INTERPOSE_RECORD_MODULES_H_
#define GPUTRACE_INTERPOSE_RECORD_MODULES_H_

#include <cstdint>

#include "interpose/record/thread_state.h"

namespace gputrace::interpose {

// Publishes the definitions of modules that were loaded since any thread last did, and returns the
// current epoch: the number of loads and unloads so far. Takes the loader's lock; allocates
// nothing.
uint32_t DefineModules(ThreadState* state);

}  // namespace gputrace::interpose

#endif  // GPUTRACE_INTERPOSE_RECORD_MODULES_H_

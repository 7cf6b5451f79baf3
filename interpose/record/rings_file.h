// SPDX-License-Identifier: Apache-2.0
// The rings' file of a session: where it is, how rings are added to it and taken over.
#ifndef GPUTRACE_INTERPOSE_RECORD_RINGS_FILE_H_
#define GPUTRACE_INTERPOSE_RECORD_RINGS_FILE_H_

#include <cstdint>

#include "interpose/record/session.h"

namespace gputrace::interpose {

// Chooses session->live_path: beside the trace on file systems known to share mappings well, else
// in /dev/shm, else in /tmp. Room is allocated, never left to be found missing (SIGBUS) later. 0 or
// -errno.
long CreateRingsFile(Session* session, uint64_t process_start_time);

// A state with a ring for the calling thread, or null if there is no room for one. Rings of threads
// that have ended are taken over.
ThreadState* MakeThreadState(Session* session);

// After the trace has everything.
void RemoveRingsFile(Session* session);

}  // namespace gputrace::interpose

#endif  // GPUTRACE_INTERPOSE_RECORD_RINGS_FILE_H_

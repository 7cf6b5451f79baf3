// SPDX-License-Identifier: Apache-2.0
// The thread that writes the trace while the program runs, and what takes its place at exit.
#ifndef GPUTRACE_INTERPOSE_RECORD_WRITER_H_
#define GPUTRACE_INTERPOSE_RECORD_WRITER_H_

#include "interpose/record/session.h"

namespace gputrace::interpose {

// Starts the thread; all its signals are blocked. Without a thread (no pthread_create, limits)
// records stay in the rings, for readers to fold in, until those are full.
void StartWriter(Session* session);

// Ends the trace in order: stops the thread, writes what is left, the end record and the index, and
// removes the rings' file. Calls that come later are written by the threads that make them.
void FinishSession(Session* session);

}  // namespace gputrace::interpose

#endif  // GPUTRACE_INTERPOSE_RECORD_WRITER_H_

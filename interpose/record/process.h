// SPDX-License-Identifier: Apache-2.0
// What is to be known of the traced process: read from /proc and the environment, once per session.
#ifndef GPUTRACE_INTERPOSE_RECORD_PROCESS_H_
#define GPUTRACE_INTERPOSE_RECORD_PROCESS_H_

#include <cstddef>
#include <cstdint>

#include "interpose/record/text_buffer.h"

namespace gputrace::interpose {

struct ProcessInfo {
  TextBuffer<255> host;
  TextBuffer<255> program;  // last part of the executable's path
  PathBuffer executable;
  PathBuffer directory;
  TextBuffer<8191> arguments;  // a JSON array
  TextBuffer<63> boot_id;
  TextBuffer<63> rank;  // of the job, from the first variable that is set; "0" if none is
  uint32_t pid;
  uint32_t parent;
  uint64_t start_time;  // field 22 of /proc/PID/stat
};
void ReadProcess(ProcessInfo* info);

// Variables whose values are recorded: what launchers tell a rank about itself. The environment as
// a whole never is. Null-terminated.
extern const char* const kRecordedVariables[];

// The value of an environment variable, or null. Does not call getenv, which others override.
const char* Variable(const char* name);

// Reads a small file whole; returns its size, 0 if it cannot be read.
size_t ReadFile(const char* path, char* out, size_t capacity);

// Whether the parent of `pid` has this library loaded: then this is a child of a traced process.
bool ParentIsTraced(uint32_t parent);

// Whether the calling thread is all that is left: the process's first thread has ended, by
// pthread_exit or the like, and no other one is there. False without /proc.
bool IsLastThread();

}  // namespace gputrace::interpose

#endif  // GPUTRACE_INTERPOSE_RECORD_PROCESS_H_

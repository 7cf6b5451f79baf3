// SPDX-License-Identifier: Apache-2.0
// The tracer's only way to speak outside its trace: lines appended to GPUTRACE_LOG, if that is set.
// It never writes to the program's standard streams.
#ifndef GPUTRACE_INTERPOSE_RECORD_LOG_H_
#define GPUTRACE_INTERPOSE_RECORD_LOG_H_

#include "interpose/record/sys.h"
#include "interpose/record/text_buffer.h"

namespace gputrace::interpose {

// One line: "gputrace[PID]: TEXT DETAIL". `error` is a negative errno, or 0 for none.
inline void Log(const char* log_path, const char* text, const char* detail = "", long error = 0) {
  if (log_path == nullptr) return;
  TextBuffer<2047> line;
  line.Add("gputrace[").AddNumber(sys::GetPid()).Add("]: ").Add(text).Add(detail);
  if (error < 0) line.Add(" (errno ").AddNumber(static_cast<uint64_t>(-error)).Add(')');
  line.Add('\n');
  const int fd = sys::Open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) return;
  sys::Write(fd, line.c_str(), line.size());
  sys::Close(fd);
}

}  // namespace gputrace::interpose

#endif  // GPUTRACE_INTERPOSE_RECORD_LOG_H_

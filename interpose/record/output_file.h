// SPDX-License-Identifier: Apache-2.0
// The trace file of a running process: created, never overwritten, only appended to.
#ifndef GPUTRACE_INTERPOSE_RECORD_OUTPUT_FILE_H_
#define GPUTRACE_INTERPOSE_RECORD_OUTPUT_FILE_H_

#include <cstddef>
#include <cstdint>

#include "interpose/record/text_buffer.h"

namespace gputrace::interpose {

// Fills in the placeholders of GPUTRACE_OUT: %p pid, %h host, %r rank, %e program, %t start time in
// seconds, %% a percent sign.
struct OutputNames {
  uint32_t pid;
  uint64_t start_seconds;
  const char* host;
  const char* rank;
  const char* program;
};
inline constexpr char kDefaultOutput[] = "gputrace.%e.%h.%p.%t.gputrace";
void ExpandOutputPath(const char* pattern, const OutputNames& names, PathBuffer* path);

// Zero-initialised memory is a closed file, but for fd: call Reset first. Not thread-safe.
class OutputFile {
 public:
  void Reset() { fd_ = -1; }
  // Creates `path`, or `path` with .1, .2, … if there is a file of that name; `path` becomes what
  // was chosen, and must outlive the file. Returns 0 or -errno.
  long Create(PathBuffer* path);
  // Appends all or nothing; a part that was written before a failure is cut off again. 0 or -errno.
  long Append(const void* data, size_t size);
  bool is_open() const { return fd_ >= 0; }
  uint64_t size() const { return size_; }
  long ReadAt(uint64_t offset, void* out, size_t size) const;

 private:
  // Programs close descriptors that are not theirs (daemons: all of them) and get the numbers again
  // for files of their own. Nothing is written unless the descriptor still is the trace.
  bool IsStillOurs() const;
  long Reopen();

  int fd_;
  uint64_t size_;
  uint64_t device_;
  uint64_t inode_;
  const char* path_;
};

}  // namespace gputrace::interpose

#endif  // GPUTRACE_INTERPOSE_RECORD_OUTPUT_FILE_H_

// SPDX-License-Identifier: Apache-2.0
// Reading of files that may shrink or change while they are read: pread only, never mmap, so that a
// file cut by somebody else is a short read and not a SIGBUS.
#ifndef GPUTRACE_TRACE_FILE_IO_H_
#define GPUTRACE_TRACE_FILE_IO_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace gputrace::trace {

// Owns a file descriptor. Reads may come from several threads.
class InputFile {
 public:
  // kNotFound, kPermissionDenied, kInvalidArgument (a directory), else kUnavailable.
  static absl::StatusOr<InputFile> Open(const std::string& path);
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&& other) noexcept;
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile();

  uint64_t size() const { return size_; }  // when it was opened
  // Reads up to `size` bytes; returns how many there were. Errors read as an early end.
  size_t Read(uint64_t offset, void* out, size_t size) const;
  bool ReadExactly(uint64_t offset, void* out, size_t size) const {
    return Read(offset, out, size) == size;
  }

 private:
  InputFile(int fd, uint64_t size) : fd_(fd), size_(size) {}
  int fd_ = -1;
  uint64_t size_ = 0;
};

}  // namespace gputrace::trace

#endif  // GPUTRACE_TRACE_FILE_IO_H_

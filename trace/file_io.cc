// SPDX-License-Identifier: Apache-2.0
#include "trace/file_io.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_format.h"

namespace gputrace::trace {

absl::StatusOr<InputFile> InputFile::Open(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    const int error = errno;
    const std::string text = absl::StrFormat("%s: %s", path, strerror(error));
    if (error == ENOENT) return absl::NotFoundError(text);
    if (error == EACCES || error == EPERM) return absl::PermissionDeniedError(text);
    return absl::UnavailableError(text);
  }
  InputFile file(fd, 0);
  struct stat info {};
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrFormat("%s: not a regular file", path));
  }
  file.size_ = static_cast<uint64_t>(info.st_size);
  return file;
}

InputFile::InputFile(InputFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), size_(other.size_) {}

InputFile& InputFile::operator=(InputFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  size_ = other.size_;
  return *this;
}

InputFile::~InputFile() {
  if (fd_ >= 0) close(fd_);
}

size_t InputFile::Read(uint64_t offset, void* out, size_t size) const {
  size_t done = 0;
  while (done < size) {
    const ssize_t n =
        pread(fd_, static_cast<char*>(out) + done, size - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += static_cast<size_t>(n);
  }
  return done;
}

}  // namespace gputrace::trace

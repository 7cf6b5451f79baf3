// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/output.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace gputrace::cli {
namespace {

constexpr size_t kBufferBytes = 64 << 10;

}  // namespace

void Output::Write(std::string_view text) {
  if (closed_) return;
  buffer_ += text;
  if (buffer_.size() >= kBufferBytes) Flush();
}

void Output::Flush() {
  size_t done = 0;
  while (!closed_ && done < buffer_.size()) {
    const ssize_t n = write(fd_, buffer_.data() + done, buffer_.size() - done);
    if (n >= 0) {
      done += static_cast<size_t>(n);
    } else if (errno != EINTR) {
      closed_ = true;
      if (errno != EPIPE) {
        status_ =
            absl::UnavailableError(absl::StrCat("standard output: ", std::string(strerror(errno))));
      }
    }
  }
  buffer_.clear();
}

absl::Status Output::Finish() {
  Flush();
  return status_;
}

}  // namespace gputrace::cli

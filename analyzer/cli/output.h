// SPDX-License-Identifier: Apache-2.0
// Standard output, of which it is no error that a reader such as `head` closes it early.
#ifndef GPUTRACE_ANALYZER_CLI_OUTPUT_H_
#define GPUTRACE_ANALYZER_CLI_OUTPUT_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace gputrace::cli {

class Output {
 public:
  explicit Output(int fd) : fd_(fd) {}
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void Write(std::string_view text);
  // Whether writing more is of no use. Commands that write much may stop then.
  bool closed() const { return closed_; }
  // Writes what is left. An error unless everything was written or the reader had enough.
  absl::Status Finish();

 private:
  void Flush();

  const int fd_;
  std::string buffer_;
  bool closed_ = false;
  absl::Status status_;
};

}  // namespace gputrace::cli

#endif  // GPUTRACE_ANALYZER_CLI_OUTPUT_H_

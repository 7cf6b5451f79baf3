// SPDX-License-Identifier: Apache-2.0
// A line on stderr that says how far a long run is.
#ifndef GPUTRACE_ANALYZER_CLI_PROGRESS_H_
#define GPUTRACE_ANALYZER_CLI_PROGRESS_H_

#include <chrono>
#include <string>

namespace gputrace::cli {

// Appears after a second, only if stderr is a terminal, and is wiped in the end.
class Progress {
 public:
  Progress(std::string what, bool wanted);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Show(double share);

 private:
  using Clock = std::chrono::steady_clock;

  const std::string what_;
  const bool wanted_;
  const Clock::time_point started_ = Clock::now();
  Clock::time_point shown_{};
  bool visible_ = false;
};

}  // namespace gputrace::cli

#endif  // GPUTRACE_ANALYZER_CLI_PROGRESS_H_

// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/progress.h"

#include <unistd.h>

#include <cstdio>
#include <utility>

namespace gputrace::cli {

Progress::Progress(std::string what, bool wanted)
    : what_(std::move(what)), wanted_(wanted && isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() {
  if (visible_) fputs("\r\x1b[K", stderr);
}

void Progress::Show(double share) {
  if (!wanted_) return;
  const Clock::time_point now = Clock::now();
  if (now - started_ < std::chrono::seconds(1) || now - shown_ < std::chrono::milliseconds(100)) {
    return;
  }
  shown_ = now;
  visible_ = true;
  fprintf(stderr, "\r%s %3.0f %%\x1b[K", what_.c_str(), share * 100);
  fflush(stderr);
}

}  // namespace gputrace::cli

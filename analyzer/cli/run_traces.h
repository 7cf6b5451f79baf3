// SPDX-License-Identifier: Apache-2.0
// The folder that a run leaves its traces in, and what is said about it at the end.
#ifndef GPUTRACE_ANALYZER_CLI_RUN_TRACES_H_
#define GPUTRACE_ANALYZER_CLI_RUN_TRACES_H_

#include <cstdint>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "analyzer/cli/run_environment.h"

namespace gputrace::cli {

class TraceFolder {
 public:
  // Makes the folder `output` if it is not there; if empty, makes a new one in the working
  // directory, named after `program` and the time. Fails if it cannot be written to.
  static absl::StatusOr<TraceFolder> Make(const std::string& output, const std::string& program);

  // The value of GPUTRACE_OUT: a file of its own in this folder for each process image.
  std::string OutputPattern() const;
  // Where the tracer tells of trouble unless the user named a file.
  std::string LogPath() const;

  // What has come into the folder since it was made.
  struct Yield {
    int traces = 0;
    uint64_t bytes = 0;
    int empty = 0;             // files that the tracer could not write anything into
    int older = 0;             // traces that were there before
    std::string last_trouble;  // last line of the log, if it has grown
  };
  Yield Collect() const;

  // Removes the folder if it was made for this run and nothing is in it.
  void RemoveIfUnused() const;

  const std::string& shown() const { return shown_; }  // as the user would type it

 private:
  std::string shown_;
  std::string path_;  // absolute
  bool made_ = false;
  std::set<std::string> older_;
  uint64_t log_bytes_ = 0;
};

// Why a program left no trace, as far as its file tells; one sentence without a full stop.
std::string WhyNoTrace(const std::string& program, const Environment& environment);

// A word as it can be pasted into a shell.
std::string ShellQuote(const std::string& word);

}  // namespace gputrace::cli

#endif  // GPUTRACE_ANALYZER_CLI_RUN_TRACES_H_

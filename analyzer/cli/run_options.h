// SPDX-License-Identifier: Apache-2.0
// The command line of `gputrace run`, up to the command's own words.
#ifndef GPUTRACE_ANALYZER_CLI_RUN_OPTIONS_H_
#define GPUTRACE_ANALYZER_CLI_RUN_OPTIONS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace gputrace::cli {

struct RunOptions {
  bool help = false;
  bool quiet = false;
  std::string output;                         // -o; empty: a new folder with a name of its own
  std::vector<uint64_t> simulated_bytes;      // of each card of --simulate; empty: no simulation
  std::map<std::string, std::string> tracer;  // GPUTRACE_* variables set by flags, normalised
  std::vector<std::string> command;           // at least one word unless `help`
};

// `words` is what follows `run`. Options end at `--` or at the first word that is none: what comes
// after that belongs to the command, whatever it looks like. kInvalidArgument says what is wrong in
// one sentence.
absl::StatusOr<RunOptions> ParseRunOptions(const std::vector<std::string>& words);

// The text of `gputrace run --help`.
std::string RunHelp();

}  // namespace gputrace::cli

#endif  // GPUTRACE_ANALYZER_CLI_RUN_OPTIONS_H_

// SPDX-License-Identifier: Apache-2.0
// Runs a command as if this process were not between it and whoever started it.
#ifndef GPUTRACE_ANALYZER_CLI_RUN_CHILD_H_
#define GPUTRACE_ANALYZER_CLI_RUN_CHILD_H_

#include <string>
#include <vector>

#include "analyzer/cli/run_environment.h"

namespace gputrace::cli {

struct ChildResult {
  int start_error = 0;  // errno why the command could not be started; 0: it ran
  int wait_status = 0;  // as waitpid gives it, if it ran
};

// Starts `command`, which is looked for in PATH, and waits until it ends. Meanwhile signals sent to
// this process go to the command; those that the terminal sends reach it anyhow. When the command
// stops for job control, so does this process. Standard streams, signal dispositions and the
// process group are the command's as they were ours.
ChildResult RunChild(const std::vector<std::string>& command, const Environment& environment);

// The shell's exit codes for a command that could not be started.
inline constexpr int kCommandNotFound = 127;
inline constexpr int kCommandNotExecutable = 126;
int StartFailureCode(const std::string& program, int error);

// Ends as the command did: returns its exit code, or dies by its signal without a core of our own.
int EndLike(int wait_status);

}  // namespace gputrace::cli

#endif  // GPUTRACE_ANALYZER_CLI_RUN_CHILD_H_

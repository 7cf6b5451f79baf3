// SPDX-License-Identifier: Apache-2.0
// How a subcommand joins the program: it adds itself and its options to the parser, and when it was
// named on the command line, leaves behind what is to be run.
#ifndef GPUTRACE_ANALYZER_CLI_COMMAND_H_
#define GPUTRACE_ANALYZER_CLI_COMMAND_H_

#include <functional>
#include <string>

#include "CLI/CLI.hpp"

namespace gputrace::cli {

enum ExitCode : int {
  kExitDone = 0,
  kExitGateFailed = 1,
  kExitUsage = 2,  // wrong usage, or input that cannot be read
  kExitNotTrustworthy = 3,
};

// Returns the program's exit code.
using Action = std::function<int()>;

// One per subcommand. Sets `*action` from the subcommand's callback, that is once its options have been
// parsed. `app` and `action` outlive the parsing.
void AddInfoCommand(CLI::App* app, Action* action);
void AddSummaryCommand(CLI::App* app, Action* action);
void AddLiveCommand(CLI::App* app, Action* action);
void AddPeakCommand(CLI::App* app, Action* action);
void AddTimelineCommand(CLI::App* app, Action* action);
void AddLeaksCommand(CLI::App* app, Action* action);
void AddDumpCommand(CLI::App* app, Action* action);
void AddRepairCommand(CLI::App* app, Action* action);

// One line on stderr, `gputrace: MESSAGE`, with what could do harm on a terminal escaped. Returns `code`.
int Fail(const std::string& message, int code = kExitUsage);

}  // namespace gputrace::cli

#endif  // GPUTRACE_ANALYZER_CLI_COMMAND_H_

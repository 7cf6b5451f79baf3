// SPDX-License-Identifier: Apache-2.0
// The subcommands, to be run once their options have been parsed. (`run` is in run.h.)
#ifndef GPUTRACE_ANALYZER_CLI_COMMAND_H_
#define GPUTRACE_ANALYZER_CLI_COMMAND_H_

#include <string>

#include "analyzer/cli/options.h"

namespace gputrace::cli {

enum ExitCode : int {
  kExitDone = 0,
  kExitGateFailed = 1,
  kExitUsage = 2,  // wrong usage, or input that cannot be read
  kExitNotTrustworthy = 3,
};

// Each returns the program's exit code.
int RunInfo(CommonOptions* options);
int RunSummary(CommonOptions* options);
int RunPeak(CommonOptions* options);
int RunLive(LiveOptions* options);
int RunTimeline(TimelineOptions* options);
int RunLeaks(CommonOptions* options);
int RunDump(CommonOptions* options);
int RunRepair(RepairOptions* options);

// One line on stderr, `gputrace: MESSAGE`, with what could do harm on a terminal escaped. Returns
// `code`.
int Fail(const std::string& message, int code = kExitUsage);

}  // namespace gputrace::cli

#endif  // GPUTRACE_ANALYZER_CLI_COMMAND_H_

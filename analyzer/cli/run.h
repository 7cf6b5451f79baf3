// SPDX-License-Identifier: Apache-2.0
// `gputrace run`: runs a command under the tracer.
#ifndef GPUTRACE_ANALYZER_CLI_RUN_H_
#define GPUTRACE_ANALYZER_CLI_RUN_H_

namespace gputrace::cli {

// Whether the command line is one of `gputrace run`. What stands behind `run` is another program's
// command line, so main() asks this before a general parser reads any of it.
bool IsRun(int argc, char** argv);

// All of `gputrace run`. Returns the exit code, or dies by the signal that the command died by.
int RunMain(int argc, char** argv);

}  // namespace gputrace::cli

#endif  // GPUTRACE_ANALYZER_CLI_RUN_H_

// SPDX-License-Identifier: Apache-2.0
// The command line: which subcommands and options there are.
#ifndef GPUTRACE_ANALYZER_CLI_COMMANDS_H_
#define GPUTRACE_ANALYZER_CLI_COMMANDS_H_

#include <functional>

namespace CLI {
class App;
}

namespace gputrace::cli {

// Returns the program's exit code.
using Action = std::function<int()>;

// Adds all subcommands. Parsing the command line sets `*action` to what it asks for. Both outlive
// the parsing.
void AddCommands(CLI::App* app, Action* action);

}  // namespace gputrace::cli

#endif  // GPUTRACE_ANALYZER_CLI_COMMANDS_H_

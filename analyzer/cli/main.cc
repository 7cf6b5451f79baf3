// SPDX-License-Identifier: Apache-2.0
// gputrace: reads the traces that libgputrace.so writes.
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "analyzer/cli/command.h"
#include "analyzer/cli/commands.h"
#include "analyzer/cli/run.h"
#include "analyzer/report/terminal.h"

namespace gputrace::cli {

int Fail(const std::string& message, int code) {
  fprintf(stderr, "gputrace: %s\n", report::EscapeForTerminal(message).c_str());
  return code;
}

namespace {

int Main(int argc, char** argv) {
  // Before anything else: its command line is mostly another program's, and so are its signals.
  if (IsRun(argc, argv)) return RunMain(argc, argv);
  // Writing to a closed pipe must be an error that can be handled. Not so in commands that are run.
  signal(SIGPIPE, SIG_IGN);
  CLI::App app("Reads traces of a program's GPU memory: who holds it, what leaks, why it ran out.",
               "gputrace");
  app.set_version_flag("--version", "gputrace " GPUTRACE_VERSION);
  app.require_subcommand(1);
  app.failure_message([](const CLI::App*, const CLI::Error& error) {
    // One line, whatever the parser made of it.
    return "gputrace: " +
           report::EscapeForTerminal(absl::StrReplaceAll(error.what(), {{"\n", "; "}})) +
           " (--help shows the options)\n";
  });
  Action action;
  AddCommands(&app, &action);
  // The parser would only say that a subcommand is missing.
  const auto is_it = [&](const CLI::App* command) { return command->check_name(argv[1]); };
  if (argc > 1 && argv[1][0] != '-' && app.get_subcommands(is_it).empty()) {
    return Fail(absl::StrCat("there is no command '", argv[1], "' (--help lists them)"));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitDone : kExitUsage;
  }
  return action ? action() : kExitUsage;
}

}  // namespace
}  // namespace gputrace::cli

int main(int argc, char** argv) {
  try {
    return gputrace::cli::Main(argc, argv);
  } catch (const std::exception& error) {
    // Most likely memory has run out: nothing here may need any.
    fprintf(stderr, "gputrace: %s\n", error.what());
    return gputrace::cli::kExitUsage;
  }
}

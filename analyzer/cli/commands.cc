// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/commands.h"

#include <memory>

#include "CLI/CLI.hpp"
#include "analyzer/cli/command.h"
#include "analyzer/cli/options.h"

namespace gputrace::cli {
namespace {

// Options that not every command has.
enum OptionGroup : unsigned {
  kFilterOptions = 1,  // --device, --kind
  kListOptions = 2,    // --top, --min-size, --by
  kSymbolOptions = 4,  // --native, --no-symbols, --sysroot, --debug-dir
};

void AddOptions(CLI::App* command, CommonOptions* options, unsigned groups = 0) {
  command
      ->add_option("TRACE", options->traces,
                   "a .gputrace file, or a folder of them; several are the processes of one job")
      ->required();
  command->add_flag("--json", options->json, "print JSON (docs/schema)");
  command->add_flag("--separate", options->separate, "report each trace by itself");
  command->add_flag("--strict", options->strict, "exit code 3 if the result cannot be trusted");
  command->add_flag("--quiet,-q", options->quiet, "no progress, no hints");
  command->add_option("--color", options->color_text, "auto, always or never");
  command->add_option("--max-memory", options->max_memory_text,
                      "give up rather than use more memory than this");
  if (groups & kFilterOptions) {
    command->add_option("--device", options->device,
                        "only this device: its index, its UUID, or host:N");
    command->add_option("--kind", options->kind_text,
                        "only these kinds of memory, comma-separated; all for all");
  }
  if (groups & kListOptions) {
    command->add_option("--top", options->top_text, "how many to list; 0 for all");
    command->add_option("--min-size", options->min_size_text, "leave out what is smaller");
    command->add_option("--by", options->by_text, "stack or library");
  }
  if (groups & kSymbolOptions) {
    command->add_flag("--native", options->native, "whole stacks");
    command->add_flag("--no-symbols", options->no_symbols, "modules and offsets only");
    command->add_option("--sysroot", options->sysroot,
                        "where the traced machine's files are, as / was there");
    command->add_option("--debug-dir", options->debug_dirs,
                        "a folder of separate debug information; may be repeated");
  }
}

template <typename Options>
std::shared_ptr<Options> AddCommand(CLI::App* app, const char* name, const char* what,
                                    int (*run)(Options*), Action* action, CLI::App** command) {
  auto options = std::make_shared<Options>();
  *command = app->add_subcommand(name, what);
  (*command)->callback([=] { *action = [=] { return run(options.get()); }; });
  return options;
}

void AddReader(CLI::App* app, const char* name, const char* what, int (*run)(CommonOptions*),
               unsigned groups, Action* action) {
  CLI::App* command = nullptr;
  auto options = AddCommand(app, name, what, run, action, &command);
  AddOptions(command, options.get(), groups);
}

// For --help. main() lets no command line that begins with `run` come here.
void AddRunCommand(CLI::App* app, Action* action) {
  CLI::App* command = app->add_subcommand("run", "run a command under the tracer");
  command->allow_extras();
  command->callback([=] {
    *action = [] {
      return Fail("options of gputrace run come after its name: gputrace run [options] -- CMD…");
    };
  });
}

}  // namespace

void AddCommands(CLI::App* app, Action* action) {
  constexpr unsigned kAll = kFilterOptions | kListOptions | kSymbolOptions;
  AddRunCommand(app, action);
  AddReader(app, "info", "what was traced, and how complete it is", RunInfo, 0, action);
  AddReader(app, "summary", "who holds memory: by kind, device, library and stack", RunSummary,
            kAll, action);
  AddReader(app, "peak", "who held memory when the most was held", RunPeak, kAll, action);
  CLI::App* command = nullptr;
  auto live = AddCommand(app, "live", "who holds memory at a moment", RunLive, action, &command);
  AddOptions(command, live.get(), kAll);
  command->add_option("--at", live->at, "seconds since the start, end, or peak");
  auto timeline = AddCommand(app, "timeline", "memory over time", RunTimeline, action, &command);
  AddOptions(command, timeline.get(), kFilterOptions);
  command->add_flag("--csv", timeline->csv, "print points as CSV")->excludes("--json");
  command->add_option("--points", timeline->points, "at most so many points per series")
      ->check(CLI::Range(6, 1'000'000));
  AddReader(app, "leaks", "what was not freed, and what that means", RunLeaks, kAll, action);
  AddReader(app, "dump", "the events, one line each", RunDump, kSymbolOptions, action);
  auto repair = AddCommand(app, "repair",
                           "rebuild the index, fold in what a killed process left in its rings",
                           RunRepair, action, &command);
  command->add_option("TRACE", repair->traces, "a .gputrace file, or a folder of them")->required();
  command->add_option("-o,--output", repair->output, "write here and leave the original alone");
  command->add_flag("--json", repair->json, "print JSON (docs/schema)");
}

}  // namespace gputrace::cli

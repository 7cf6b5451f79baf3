// SPDX-License-Identifier: Apache-2.0
// The options that commands which read traces have in common.
#ifndef GPUTRACE_ANALYZER_CLI_OPTIONS_H_
#define GPUTRACE_ANALYZER_CLI_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "analyzer/ledger/account.h"
#include "analyzer/report/terminal.h"

namespace gputrace::cli {

enum class GroupBy { kStack, kLibrary };

struct CommonOptions {
  std::vector<std::string> traces;
  bool json = false;
  bool quiet = false;
  bool strict = false;
  bool separate = false;
  bool no_symbols = false;
  bool native = false;  // whole native stacks
  std::string device;   // empty: all
  std::string sysroot;
  std::vector<std::string> debug_dirs;

  // As typed; the values below are made of them by Check.
  std::string kind_text;
  std::string top_text;
  std::string min_size_text;
  std::string by_text = "stack";
  std::string color_text = "auto";
  std::string max_memory_text;

  std::optional<ledger::AccountSet> kinds;
  std::optional<size_t> top;
  uint64_t min_size = 0;
  GroupBy by = GroupBy::kStack;
  report::ColorMode color = report::ColorMode::kAuto;
  std::optional<uint64_t> max_memory;

  // kInvalidArgument names the option whose value is bad.
  absl::Status Check();
};

// Which groups of options a command has.
enum OptionGroup : unsigned {
  kTraceOptions = 0,        // TRACE…, --json, --color, …: every command that reads traces
  kFilterOptions = 1,       // --device, --kind
  kListOptions = 2,         // --top, --min-size, --by
  kSymbolOptions = 4,       // --native, --no-symbols, --sysroot, --debug-dir
};
void AddOptions(CLI::App* command, CommonOptions* options, unsigned groups);

}  // namespace gputrace::cli

#endif  // GPUTRACE_ANALYZER_CLI_OPTIONS_H_

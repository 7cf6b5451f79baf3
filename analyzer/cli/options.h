// SPDX-License-Identifier: Apache-2.0
// The options of the commands, as they were typed and as they are meant.
#ifndef GPUTRACE_ANALYZER_CLI_OPTIONS_H_
#define GPUTRACE_ANALYZER_CLI_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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

struct LiveOptions : CommonOptions {
  std::string at = "end";
};

struct TimelineOptions : CommonOptions {
  bool csv = false;
  size_t points = 1000;
};

struct RepairOptions {
  std::vector<std::string> traces;
  std::string output;  // empty: in place
  bool json = false;
};

}  // namespace gputrace::cli

#endif  // GPUTRACE_ANALYZER_CLI_OPTIONS_H_

// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/options.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "analyzer/report/units.h"

namespace gputrace::cli {
namespace {

absl::Status Bad(const char* option, std::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(option, ": ", std::string(why)));
}

absl::Status ParseSize(const char* option, const std::string& text, uint64_t* bytes) {
  const absl::StatusOr<uint64_t> parsed = report::ParseBytes(text);
  if (!parsed.ok()) return Bad(option, std::string(parsed.status().message()));
  *bytes = *parsed;
  return absl::OkStatus();
}

}  // namespace

absl::Status CommonOptions::Check() {
  if (!kind_text.empty()) {
    const absl::StatusOr<ledger::AccountSet> parsed = ledger::ParseKinds(kind_text);
    if (!parsed.ok()) return Bad("--kind", std::string(parsed.status().message()));
    kinds = *parsed;
  }
  if (!top_text.empty()) {
    uint64_t number = 0;
    if (!absl::SimpleAtoi(top_text, &number)) {
      return Bad("--top", absl::StrCat("'", top_text, "' is no number"));
    }
    top = number;
  }
  if (!min_size_text.empty()) {
    if (absl::Status status = ParseSize("--min-size", min_size_text, &min_size); !status.ok()) {
      return status;
    }
  }
  if (!max_memory_text.empty()) {
    uint64_t bytes = 0;
    if (absl::Status status = ParseSize("--max-memory", max_memory_text, &bytes); !status.ok()) {
      return status;
    }
    max_memory = bytes;
  }
  if (by_text != "stack" && by_text != "library") {
    return Bad("--by", absl::StrCat("'", by_text, "' is neither stack nor library"));
  }
  by = by_text == "stack" ? GroupBy::kStack : GroupBy::kLibrary;
  const absl::StatusOr<report::ColorMode> mode = report::ParseColorMode(color_text);
  if (!mode.ok()) return Bad("--color", std::string(mode.status().message()));
  color = *mode;
  return absl::OkStatus();
}

void AddOptions(CLI::App* command, CommonOptions* options, unsigned groups) {
  command->add_option("TRACE", options->traces,
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

}  // namespace gputrace::cli

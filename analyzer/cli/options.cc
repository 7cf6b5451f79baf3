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

}  // namespace gputrace::cli

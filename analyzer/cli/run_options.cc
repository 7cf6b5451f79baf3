// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/run_options.h"

#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analyzer/cli/run_environment.h"
#include "analyzer/cli/run_tracer_options.h"

namespace gputrace::cli {
namespace {

const TracerOption* FindTracerOption(const std::string& flag) {
  for (const TracerOption& option : TracerOptions()) {
    if (option.flag != nullptr && flag == option.flag) return &option;
  }
  return nullptr;
}

absl::Status Wrong(const std::string& why) { return absl::InvalidArgumentError(why); }

// An option that takes a value.
absl::Status ApplyValue(const std::string& flag, const std::string& value, RunOptions* options) {
  if (flag == "-o" || flag == "--output") {
    if (value.empty()) return Wrong(absl::StrCat(flag, ": the folder's name is empty"));
    options->output = value;
    return absl::OkStatus();
  }
  if (flag == "--simulate") {
    auto devices = ParseSimulatedDevices(value);
    if (!devices.ok()) return Wrong(absl::StrCat("--simulate: ", devices.status().message()));
    options->simulated_bytes = *std::move(devices);
    return absl::OkStatus();
  }
  const TracerOption* option = FindTracerOption(flag);
  auto normalized = option->normalize(value);
  if (!normalized.ok()) {
    return Wrong(absl::StrCat(flag, " ", value, ": ", normalized.status().message()));
  }
  options->tracer[option->variable] = *std::move(normalized);
  return absl::OkStatus();
}

bool TakesValue(const std::string& flag) {
  return flag == "-o" || flag == "--output" || flag == "--simulate" ||
         FindTracerOption(flag) != nullptr;
}

// Options of the design that this version lacks are refused by name.
absl::Status Unknown(const std::string& flag) {
  if (flag == "--check") return Wrong("--check: this version has no gate (`gputrace check`) yet");
  if (flag == "--keep") return Wrong("--keep: the flight recorder is not in this version");
  return Wrong(absl::StrCat("there is no option ", flag, " (see gputrace run --help)"));
}

}  // namespace

absl::StatusOr<RunOptions> ParseRunOptions(const std::vector<std::string>& words) {
  RunOptions options;
  size_t at = 0;
  while (at < words.size() && words[at].size() > 1 && words[at][0] == '-') {
    const std::string& word = words[at++];
    if (word == "--") break;
    if (word == "-h" || word == "--help") {
      options.help = true;
      return options;
    }
    if (word == "-q" || word == "--quiet") {
      options.quiet = true;
      continue;
    }
    const size_t equals = word.starts_with("--") ? word.find('=') : std::string::npos;
    const std::string flag = word.substr(0, equals);
    if (!TakesValue(flag)) return Unknown(flag);
    if (equals == std::string::npos && at == words.size()) {
      return Wrong(absl::StrCat(flag, " needs a value"));
    }
    const std::string value = equals == std::string::npos ? words[at++] : word.substr(equals + 1);
    if (absl::Status status = ApplyValue(flag, value, &options); !status.ok()) return status;
  }
  options.command.assign(words.begin() + static_cast<ptrdiff_t>(at), words.end());
  if (options.command.empty()) return Wrong("which command? (gputrace run -- CMD…)");
  return options;
}

std::string RunHelp() {
  std::string text =
      "usage: gputrace run [options] -- CMD…\n"
      "\n"
      "Runs CMD and records every call that changes GPU memory, in CMD and in what it starts. At "
      "the end\n"
      "it prints where the traces are and what to type next. Signals and the exit code are CMD's "
      "own.\n"
      "\n"
      "options:\n";
  const auto add = [&](const std::string& flag, const std::string& help) {
    absl::StrAppendFormat(&text, "  %-26s %s\n", flag, help);
  };
  add("-o, --output DIR", "folder for the traces (a new one here)");
  add("--simulate SPEC", "run on the stand-in GPU: 80GiB, or 2x80GiB for two cards");
  for (const TracerOption& option : TracerOptions()) {
    if (option.flag != nullptr) add(absl::StrCat(option.flag, " ", option.value), option.help);
  }
  add("-q, --quiet", "print nothing at the end");
  add("-h, --help", "this text");
  text +=
      "\nEach option of the tracer is also a variable: --max-size 2GiB is "
      "GPUTRACE_MAX_SIZE=2GiB.\n";
  return text;
}

}  // namespace gputrace::cli

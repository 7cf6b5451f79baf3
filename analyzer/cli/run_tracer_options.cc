// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/run_tracer_options.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <iterator>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "analyzer/report/units.h"
#include "trace/format.h"

namespace gputrace::cli {
namespace {

using Value = absl::StatusOr<std::string>;

absl::Status Bad(const std::string& why) { return absl::InvalidArgumentError(why); }

Value Stacks(const std::string& value) {
  if (value == "off" || value == "native") return value;
  if (value == "python" || value == "mixed") return Bad("this version records native stacks only");
  return Bad("must be off or native");
}

Value Depth(const std::string& value) {
  uint64_t depth = 0;
  if (!absl::SimpleAtoi(value, &depth) || depth < 1 || depth > trace::kMaxStackDepth) {
    return Bad(absl::StrCat("must be a number of frames from 1 to ", trace::kMaxStackDepth));
  }
  return absl::StrCat(depth);
}

Value Ring(const std::string& value) {
  constexpr uint64_t kMinimum = 64u << 10;
  constexpr uint64_t kMaximum = 64u << 20;
  const auto bytes = report::ParseBytes(value);
  if (!bytes.ok() || *bytes < kMinimum || *bytes > kMaximum || (*bytes & (*bytes - 1)) != 0) {
    return Bad("must be a power of two from 64KiB to 64MiB");
  }
  return absl::StrCat(*bytes);
}

Value MaxSize(const std::string& value) {
  const auto bytes = report::ParseBytes(value);
  if (!bytes.ok() || *bytes < 1u << 20 || *bytes > INT64_MAX)
    return Bad("must be a size of at least 1MiB");
  return absl::StrCat(*bytes);
}

Value OnOrOff(const std::string& value) {
  if (value == "on" || value == "off") return value;
  return Bad("must be on or off");
}

Value Start(const std::string& value) {
  if (value == "on") return value;
  if (value == "paused") return Bad("this version has no way to start recording later");
  return Bad("must be on");
}

Value Keep(const std::string&) { return Bad("the flight recorder is not in this version"); }

Value Frameworks(const std::string& value) {
  if (value == "auto" || value == "off") return value;
  return Bad("must be auto or off: this version does not record events of frameworks");
}

// Absolute, since the traced program may change its working directory.
Value LogFile(const std::string& value) {
  if (value.empty()) return Bad("is empty");
  const std::string folder = value.substr(0, value.rfind('/') + 1);
  if (access(value.c_str(), F_OK) == 0 ? access(value.c_str(), W_OK) != 0
                                       : access(absl::StrCat(folder, ".").c_str(), W_OK) != 0) {
    return absl::ErrnoToStatus(errno, "cannot be written");
  }
  char here[PATH_MAX];
  if (value[0] == '/' || getcwd(here, sizeof(here)) == nullptr) return value;
  return absl::StrCat(here, "/", value);
}

Value ZeroOrOne(const std::string& value) {
  if (value == "0" || value == "1") return value;
  return Bad("must be 0 or 1");
}

constexpr TracerOption kOptions[] = {
    {"--stacks", "GPUTRACE_STACKS", "off|native", "call stacks to record (native)", Stacks},
    {"--depth", "GPUTRACE_DEPTH", "FRAMES", "innermost frames kept of a stack: 1 to 256 (128)",
     Depth},
    {"--free-stacks", "GPUTRACE_FREE_STACKS", "on|off", "stacks of calls that free, too (on)",
     OnOrOff},
    {nullptr, "GPUTRACE_START", "", "", Start},
    {"--children", "GPUTRACE_CHILDREN", "on|off", "trace programs that CMD starts (on)", OnOrOff},
    {"--max-size", "GPUTRACE_MAX_SIZE", "SIZE", "stop recording at this size of a trace (no limit)",
     MaxSize},
    {"--ring", "GPUTRACE_RING", "SIZE", "buffer per thread: 64KiB to 64MiB (1MiB)", Ring},
    {"--frameworks", "GPUTRACE_FRAMEWORKS", "auto|off", "events of frameworks' allocators (auto)",
     Frameworks},
    {"--log", "GPUTRACE_LOG", "FILE",
     "where the tracer tells of trouble (tracer.log beside the traces)", LogFile},
    {nullptr, "GPUTRACE_KEEP", "", "", Keep},
    {nullptr, "GPUTRACE_DISABLE", "", "", ZeroOrOne},
};

// What is read by other parts than the tracer.
constexpr const char* kOtherVariables[] = {"GPUTRACE_OUT", "GPUTRACE_LIBRARY", "GPUTRACE_CACHE"};

}  // namespace

absl::Span<const TracerOption> TracerOptions() { return kOptions; }

absl::Status NormalizeVariables(Environment* environment) {
  for (const TracerOption& option : kOptions) {
    const std::optional<std::string> value = environment->Get(option.variable);
    if (!value) continue;
    const auto normalized = option.normalize(*value);
    if (!normalized.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(option.variable, "=", *value, ": ", normalized.status().message()));
    }
    environment->Set(option.variable, *normalized);
  }
  return absl::OkStatus();
}

std::vector<std::string> UnknownVariables(const Environment& environment) {
  std::vector<std::string> unknown;
  for (const auto& [name, value] : environment.variables()) {
    if (!name.starts_with("GPUTRACE_")) continue;
    const bool known =
        std::any_of(std::begin(kOptions), std::end(kOptions),
                    [&](const TracerOption& option) { return name == option.variable; }) ||
        std::find(std::begin(kOtherVariables), std::end(kOtherVariables), name) !=
            std::end(kOtherVariables);
    if (!known) unknown.push_back(name);
  }
  return unknown;
}

}  // namespace gputrace::cli

// SPDX-License-Identifier: Apache-2.0
// What the tracer may be told, as flags of `gputrace run` and as GPUTRACE_* variables. The tracer
// itself is silent about bad values, so they are refused here.
#ifndef GPUTRACE_ANALYZER_CLI_RUN_TRACER_OPTIONS_H_
#define GPUTRACE_ANALYZER_CLI_RUN_TRACER_OPTIONS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "analyzer/cli/run_environment.h"

namespace gputrace::cli {

struct TracerOption {
  const char* flag;      // `--depth`; null: there is only the variable
  const char* variable;  // `GPUTRACE_DEPTH`
  const char* value;     // as --help shows it: `FRAMES`
  const char* help;
  // The value as the tracer reads it (sizes in bytes), or why it is bad: `must be …`.
  absl::StatusOr<std::string> (*normalize)(const std::string& value);
};

absl::Span<const TracerOption> TracerOptions();

// Replaces the values in `environment` by normalised ones. The first bad one fails:
// `GPUTRACE_DEPTH=x: must be …`.
absl::Status NormalizeVariables(Environment* environment);

// Names that begin like the tracer's and mean nothing: most likely misspelt.
std::vector<std::string> UnknownVariables(const Environment& environment);

}  // namespace gputrace::cli

#endif  // GPUTRACE_ANALYZER_CLI_RUN_TRACER_OPTIONS_H_

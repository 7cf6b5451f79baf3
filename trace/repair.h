// SPDX-License-Identifier: Apache-2.0
// Makes a trace whole again: what a killed process left in its rings is written into the file,
// damage is cut out, the index is rebuilt.
#ifndef GPUTRACE_TRACE_REPAIR_H_
#define GPUTRACE_TRACE_REPAIR_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace gputrace::trace {

struct RepairResult {
  bool changed = false;
  uint64_t records_folded = 0;  // from the rings
  uint64_t bytes_dropped = 0;   // damaged bytes left out
  bool index_written = false;
  bool live_removed = false;
};

// Rewrites `path` in place (through a temporary file beside it and rename; the original stays if
// anything fails), or writes `output` and leaves the original alone if `output` is not empty.
// Refuses with kFailedPrecondition while the traced process still runs.
absl::StatusOr<RepairResult> Repair(const std::string& path, const std::string& output = "");

}  // namespace gputrace::trace

#endif  // GPUTRACE_TRACE_REPAIR_H_

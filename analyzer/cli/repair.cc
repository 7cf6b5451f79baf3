// SPDX-License-Identifier: Apache-2.0
// gputrace repair: makes traces whole again.
#include "trace/repair.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "analyzer/cli/command.h"
#include "analyzer/cli/output.h"
#include "analyzer/ingest/inputs.h"
#include "analyzer/report/json.h"
#include "analyzer/report/terminal.h"
#include "analyzer/report/units.h"
#include "nlohmann/json.hpp"

namespace gputrace::cli {
namespace {

using report::Json;

Json ResultJson(const std::string& path, const trace::RepairResult& result) {
  Json json;
  json["path"] = path;
  json["changed"] = result.changed;
  json["records_folded"] = result.records_folded;
  json["bytes_dropped"] = result.bytes_dropped;
  json["index_written"] = result.index_written;
  json["live_removed"] = result.live_removed;
  return json;
}

std::string ResultText(const std::string& path, const trace::RepairResult& result) {
  std::string text = absl::StrCat(report::EscapeForTerminal(path), ": ");
  if (!result.changed) return absl::StrCat(text, "nothing to repair\n");
  absl::StrAppend(&text, "repaired");
  if (result.records_folded > 0) {
    absl::StrAppend(&text, "; ", report::FormatCount(result.records_folded),
                    " records taken over from the rings");
  }
  if (result.bytes_dropped > 0) {
    absl::StrAppend(&text, "; ", report::FormatBytes(result.bytes_dropped), " of damage left out");
  }
  if (result.index_written) absl::StrAppend(&text, "; index written");
  return absl::StrCat(text, "\n");
}

int Repair(const RepairOptions& options) {
  const absl::StatusOr<std::vector<std::string>> paths = ingest::ExpandInputs(options.traces);
  if (!paths.ok()) return Fail(std::string(paths.status().message()));
  if (!options.output.empty() && paths->size() != 1) {
    return Fail("-o takes one trace: with several, repair each in its place");
  }
  Output out(1);
  Json json;
  json["schema"] = "gputrace.repair/1";
  json["repaired"] = Json::array();
  for (const std::string& path : *paths) {
    const absl::StatusOr<trace::RepairResult> result = trace::Repair(path, options.output);
    if (!result.ok()) {
      out.Finish().IgnoreError();
      std::string message(result.status().message());
      if (!absl::StrContains(message, path)) message = absl::StrCat(path, ": ", message);
      return Fail(message);
    }
    if (options.json) {
      json["repaired"].push_back(ResultJson(path, *result));
    } else {
      out.Write(ResultText(options.output.empty() ? path : options.output, *result));
    }
  }
  if (options.json) out.Write(report::Render(json));
  if (absl::Status status = out.Finish(); !status.ok()) return Fail(std::string(status.message()));
  return kExitDone;
}

}  // namespace

int RunRepair(RepairOptions* options) { return Repair(*options); }

}  // namespace gputrace::cli

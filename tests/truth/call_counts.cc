// SPDX-License-Identifier: Apache-2.0
#include "tests/truth/call_counts.h"

#include <fstream>
#include <set>

#include "nlohmann/json.hpp"

namespace gputrace::truth {
namespace {

// Not all of their calls are recorded: freeing nothing, and polling that found nothing done. Others
// the tracer makes itself.
bool IsRecordedInPart(const std::string& symbol) {
  static const auto* const kSymbols = new std::set<std::string>{
      "cuMemFree_v2",          "cuMemFreeAsync",
      "cuMemFreeAsync_ptsz",   "cuMemFreeHost",
      "cuStreamQuery",         "cuEventQuery",
      "cuMemGetInfo_v2",       "cuDeviceGetMemPool",
      "cuMemPoolGetAttribute", "cuDeviceGetGraphMemAttribute",
  };
  return kSymbols->contains(symbol);
}

}  // namespace

void CallCounts::Count(const trace::Record& record) {
  const bool is_call = record.kind == trace::RecordKind::kCall;
  if (is_call || record.kind == trace::RecordKind::kIntent) ++counts_[record.entry];
}

std::string CallCounts::Compare(const std::string& ledger_path) const {
  std::ifstream file(ledger_path);
  const auto ledger = nlohmann::json::parse(file, nullptr, false);
  if (ledger.is_discarded() || !ledger.contains("calls"))
    return "cannot read " + ledger_path + "\n";
  for (const trace::EntryDescriptor& entry : dictionary_.entries()) {
    if (IsRecordedInPart(entry.symbol)) continue;
    const uint64_t theirs = ledger["calls"].value(entry.symbol, uint64_t{0});
    const auto found = counts_.find(entry.id);
    const uint64_t ours = found == counts_.end() ? 0 : found->second;
    if (theirs == ours) continue;
    return entry.symbol + ": the driver counted " + std::to_string(theirs) +
           " calls, the trace has " + std::to_string(ours) + "\n";
  }
  return "";
}

}  // namespace gputrace::truth

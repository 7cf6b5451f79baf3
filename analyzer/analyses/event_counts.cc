// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/event_counts.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "analyzer/analyses/record_names.h"

namespace gputrace::analyses {

using trace::RecordKind;

void EventCounts::Count(const trace::Record& record) {
  last_ns_ = std::max(last_ns_, record.time_ns);
  if (record.kind == RecordKind::kCompletion) return;
  // What the tracer notes and asks is no event of the program.
  if (record.kind == RecordKind::kCoverage || record.kind == RecordKind::kSample) return;
  ++total_;
  if (record.kind != RecordKind::kCall && record.kind != RecordKind::kIntent) {
    ++others_[static_cast<size_t>(record.kind)];
    return;
  }
  if (record.entry >= calls_.size()) calls_.resize(record.entry + size_t{1});
  ++calls_[record.entry];
}

std::map<std::string, uint64_t> EventCounts::ByType(const trace::Dictionary& dictionary) const {
  std::map<std::string, uint64_t> counts;
  for (size_t entry = 0; entry < calls_.size(); ++entry) {
    if (calls_[entry] == 0) continue;
    const trace::EntryDescriptor* descriptor = dictionary.entry(static_cast<uint16_t>(entry));
    counts[descriptor != nullptr ? descriptor->symbol : absl::StrCat("entry ", entry)] +=
        calls_[entry];
  }
  for (size_t kind = 0; kind < others_.size(); ++kind) {
    if (others_[kind] == 0) continue;
    counts[std::string(RecordKindName(static_cast<RecordKind>(kind)))] += others_[kind];
  }
  return counts;
}

}  // namespace gputrace::analyses

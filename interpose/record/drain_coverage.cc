// SPDX-License-Identifier: Apache-2.0
// The part of Drain that writes what the resolvers have noted.
#include "interpose/hooks/collectors.h"
#include "interpose/record/drain.h"
#include "interpose/resolve/wrappers.h"

namespace gputrace::interpose {

long Drain::AddCoverage() {
  const uint32_t changes = CoverageChanges();
  if (changes == coverage_seen_ || limit_reached_) return 0;
  for (uint32_t i = 0; const CoverageNote* note = CoverageNoteAt(i); ++i) {
    const uint32_t count = note->count.load(std::memory_order_relaxed);
    if (count == notes_reported_[i]) continue;
    if (const long error = AddCoverageRecord(note->what, note->name, count); error < 0) {
      return error;
    }
    notes_reported_[i] = count;
  }
  for (uint16_t id = 1; id <= kWrapperCount; ++id) {
    const auto fresh = static_cast<uint8_t>(WaysOf(id) & ~ways_reported_[id]);
    for (uint8_t way = 0; fresh >> way != 0; ++way) {
      if ((fresh >> way & 1) == 0) continue;
      const auto what = static_cast<trace::CoverageWhat>(way);
      if (const long error = AddCoverageRecord(what, kWrappers[id].symbol, 1); error < 0) {
        return error;
      }
    }
    ways_reported_[id] |= fresh;
  }
  coverage_seen_ = changes;
  return 0;
}

long Drain::AddCoverageRecord(trace::CoverageWhat what, const char* symbol, uint32_t count) {
  const trace::Bytes text = BytesOf(symbol);
  const uint64_t hash = HashBytes(text.data, text.size);
  bool is_new = false;
  const uint32_t id = strings_.FindOrAdd(hash, &is_new);
  if (is_new && !dictionary_.AddString(id, text)) {
    if (const long error = FlushDictionary(); error < 0) {
      strings_.TakeBack(hash);
      return error;
    }
    dictionary_.AddString(id, text);
  }
  operands_[static_cast<size_t>(trace::CoverageOperand::kWhat)] = static_cast<uint64_t>(what);
  operands_[static_cast<size_t>(trace::CoverageOperand::kName)] = id;
  operands_[static_cast<size_t>(trace::CoverageOperand::kCount)] = count;
  return AddOwnRecord(trace::RecordKind::kCoverage,
                      static_cast<uint32_t>(trace::CoverageOperand::kCountOf));
}

long Drain::AddOwnRecord(trace::RecordKind kind, uint32_t count) {
  trace::PackedRecord packed;
  packed.kind = kind;
  packed.time = Units(ReadTicks(session_->clock));
  packed.count = count;
  packed.operands = operands_;
  if (columns_.Add(packed)) return 0;
  if (const long error = FlushEvents(); error < 0) return error;
  columns_.Add(packed);
  return 0;
}

}  // namespace gputrace::interpose

// SPDX-License-Identifier: Apache-2.0
#include "interpose/record/drain.h"

#include <cerrno>
#include <cstring>

#include "interpose/record/sys.h"

namespace gputrace::interpose {
namespace {

// A thread announces a commit before it reads the clock, but its store may be seen a little later
// than the clock was read. Far longer than any store buffer needs.
constexpr uint64_t kGuardNs = 50'000;
constexpr uint32_t kPassesBetweenThreadChecks = 20;

}  // namespace

Drain* Drain::Create(Session* session, const trace::EntryHints* hints, uint32_t hint_count) {
  static_assert(kBlockBytes >= sizeof(trace::BlockHeader) +
                                   trace::ColumnEncoder::kMaxPayloadBytes * 257 / 256 + 64);
  const size_t workspace =
      trace::BlockEncoder::WorkspaceBytes(trace::ColumnEncoder::kMaxPayloadBytes);
  auto* drain = static_cast<Drain*>(sys::MapPrivate(sizeof(Drain)));
  void* memory = sys::MapPrivate(workspace);
  if (drain == nullptr || memory == nullptr || !drain->blocks_.Start(memory, workspace)) {
    return nullptr;
  }
  drain->session_ = session;
  drain->dictionary_.Start(drain->dictionary_buffer_, kDictionaryBytes);
  drain->columns_.StartInZeroedMemory(hints, hint_count);
  return drain;
}

long Drain::WriteHeader(const char* boot_id) {
  trace::FileHeader header{};
  memcpy(header.trace_id, session_->trace_id, sizeof(header.trace_id));
  header.time_shift = session_->time_shift;
  header.clock = static_cast<uint8_t>(session_->clock);
  header.pid = session_->pid;
  header.start_ticks = session_->start_ticks;
  header.start_monotonic_ns = session_->start_monotonic_ns;
  header.start_realtime_ns = session_->start_realtime_ns;
  header.ticks_per_second = session_->ticks_per_second;
  strncpy(header.boot_id, boot_id, sizeof(header.boot_id) - 1);
  const size_t size = trace::EncodeFileHeader(header, session_->live_path.c_str(),
                                              session_->live_path.size(), block_);
  return session_->output.Append(block_, size);
}

long Drain::WriteBlock(trace::BlockEncoder::Description description, const uint8_t* payload,
                       size_t size) {
  description.anchor_time = Units(ReadTicks(session_->clock));
  description.anchor_ns = ReadNs(CLOCK_MONOTONIC) - session_->start_monotonic_ns;
  description.lost_events = lost_unwritten_;
  const size_t stored = blocks_.Encode(description, payload, size, block_);
  if (const long error = session_->output.Append(block_, stored); error < 0) return error;
  blocks_.Accept();
  // Only now: a reader of the rings must learn of losses that the file does not tell of.
  lost_unwritten_ = 0;
  session_->live->lost_without_ring_reported.store(lost_reported_without_ring_,
                                                   std::memory_order_relaxed);
  for (uint32_t i = 0; i < session_->live->rings.load(std::memory_order_relaxed); ++i) {
    session_->rings[i]->lost_reported.store(cursors_[i].lost, std::memory_order_relaxed);
  }
  return 0;
}

long Drain::FlushDictionary() {
  if (dictionary_.records() == 0) return 0;
  trace::BlockEncoder::Description description;
  description.kind = trace::BlockKind::kDictionary;
  description.layout = trace::BlockLayout::kTlv;
  description.records = dictionary_.records();
  const long error = WriteBlock(description, dictionary_.data(), dictionary_.size());
  if (error == 0) dictionary_.Clear();
  return error;
}

long Drain::FlushEvents() {
  if (const long error = FlushDictionary(); error < 0) return error;
  if (!columns_.empty()) {
    trace::RingRange ranges[trace::kMaxRings];
    uint32_t range_count = 0;
    for (uint32_t i = 0; i < session_->live->rings.load(std::memory_order_relaxed); ++i) {
      const Cursor& cursor = cursors_[i];
      if (cursor.position == cursor.flushed) continue;
      ranges[range_count++] = {cursor.ring_id, cursor.flushed, cursor.position};
    }
    trace::BlockEncoder::Description description;
    description.records = columns_.records();
    description.first_time = columns_.first_time();
    description.last_time = columns_.last_time();
    const size_t size = columns_.Finish(ranges, range_count, payload_);
    if (IsOverLimit(size)) return StopAtLimit();
    if (const long error = WriteBlock(description, payload_, size); error < 0) return error;
    columns_.Restart();
  }
  AdvanceTails();
  return 0;
}

bool Drain::IsOverLimit(size_t size) const {
  const uint64_t limit = session_->options.max_bytes;
  return limit != 0 && session_->output.size() + size > limit;
}

// From here on calls are only counted; what is left to write is small.
long Drain::StopAtLimit() {
  limit_reached_ = true;
  lost_unwritten_ += columns_.records();
  columns_.Restart();
  AdvanceTails();
  dictionary_.AddTrouble(
      BytesOf("the trace reached GPUTRACE_MAX_SIZE: later calls were counted, not recorded"));
  return FlushDictionary();
}

void Drain::AdvanceTails() {
  for (uint32_t i = 0; i < session_->live->rings.load(std::memory_order_relaxed); ++i) {
    Cursor& cursor = cursors_[i];
    if (cursor.position == cursor.flushed) continue;
    cursor.flushed = cursor.position;
    session_->rings[i]->tail.store(cursor.position, std::memory_order_release);
  }
}

void Drain::Rewind() {
  columns_.Restart();
  for (Cursor& cursor : cursors_) cursor.position = cursor.flushed;
  // Said again: readers take the largest count.
  coverage_seen_ = 0;
  memset(notes_reported_, 0, sizeof(notes_reported_));
  memset(ways_reported_, 0, sizeof(ways_reported_));
}

uint64_t Drain::ReadHorizon(bool everything) {
  const uint64_t guard = session_->ticks_per_second / 1'000'000 * (kGuardNs / 1000);
  uint64_t horizon = ReadTicks(session_->clock) - guard;
  const uint32_t count = session_->live->rings.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < count; ++i) {
    trace::RingHeader* ring = session_->rings[i];
    Cursor& cursor = cursors_[i];
    if (cursor.ring_id != ring->ring_id) {
      // A thread has taken the ring over (or it is new).
      cursor = {ring->ring_id, false, 0, 0, 0, cursor.lost};
    }
    const uint64_t committing = ring->committing.load(std::memory_order_acquire);
    if (committing != 0 && committing < horizon) horizon = committing;
    cursor.head = ring->head.load(std::memory_order_acquire);
  }
  return everything ? UINT64_MAX : horizon;
}

long Drain::Pass(bool everything) {
  const uint64_t horizon = ReadHorizon(everything);
  long error = Merge(horizon);
  if (error == 0) error = AddLosses();
  // Behind the first calls, which are what people look for first.
  if (error == 0 && (everything || !columns_.empty())) error = AddCoverage();
  if (error == 0) error = FlushEvents();
  if (error < 0) Rewind();
  session_->writer_is_stuck.store(error < 0, std::memory_order_relaxed);
  if (++passes_ % kPassesBetweenThreadChecks == 0) ReleaseAbandonedRings();
  return error;
}

const trace::RingRecord* Drain::At(uint32_t ring) const {
  return reinterpret_cast<const trace::RingRecord*>(
      session_->ring_data[ring] + (cursors_[ring].position & (session_->options.ring_bytes - 1)));
}

long Drain::NextEvent(uint32_t ring, const trace::RingRecord** record) {
  Cursor& cursor = cursors_[ring];
  *record = nullptr;
  while (cursor.position < cursor.head) {
    const trace::RingRecord* next = At(ring);
    if (next->kind < trace::kFirstRingOnlyKind) {
      *record = next;
      return 0;
    }
    if (!Define(*next)) {
      // The dictionary is full: write it and take the definition into the next one.
      if (const long error = FlushDictionary(); error < 0) return error;
      if (!Define(*next)) return -EMSGSIZE;
    }
    cursor.position += uint64_t{next->words} * 8;
  }
  return 0;
}

// Takes records from the ring whose next one is oldest, for as long as it stays the oldest: rings
// are compared when the lead changes, not for every record.
long Drain::Merge(uint64_t horizon) {
  const uint32_t count = session_->live->rings.load(std::memory_order_relaxed);
  for (;;) {
    uint32_t oldest = count;
    uint64_t oldest_ticks = UINT64_MAX;
    uint64_t next_ticks = UINT64_MAX;
    for (uint32_t i = 0; i < count; ++i) {
      const trace::RingRecord* record = nullptr;
      if (const long error = NextEvent(i, &record); error < 0) return error;
      if (record == nullptr) continue;
      if (oldest == count || record->ticks < oldest_ticks) {
        next_ticks = oldest_ticks;
        oldest = i;
        oldest_ticks = record->ticks;
      } else if (record->ticks < next_ticks) {
        next_ticks = record->ticks;
      }
    }
    if (oldest == count || oldest_ticks > horizon) return 0;
    const uint64_t limit = next_ticks < horizon ? next_ticks : horizon;
    const trace::RingRecord* record = At(oldest);
    while (record != nullptr && record->ticks <= limit) {
      if (const long error = AddEvent(oldest, *record); error < 0) return error;
      if (const long error = NextEvent(oldest, &record); error < 0) return error;
    }
  }
}

long Drain::AddEvent(uint32_t ring, const trace::RingRecord& record) {
  Cursor& cursor = cursors_[ring];
  if (limit_reached_) {
    ++lost_unwritten_;
    cursor.position += uint64_t{record.words} * 8;
    return 0;
  }
  if (!cursor.defined) {
    if (!DefineThread(ring)) {
      if (const long error = FlushDictionary(); error < 0) return error;
      DefineThread(ring);
    }
    cursor.defined = true;
  }
  trace::PackedRecord packed;
  packed.kind = static_cast<trace::RecordKind>(record.kind);
  packed.flags = record.flags;
  packed.entry = record.entry;
  packed.result = record.result;
  packed.thread = session_->rings[ring]->thread;
  packed.context = record.context;
  packed.native_stack = stacks_.Find(record.native_hash);
  packed.python_stack = python_stacks_.Find(record.python_hash);
  packed.time = Units(record.ticks);
  packed.duration = trace::DurationCode(record.duration_ticks >> session_->time_shift);
  packed.count = record.words - trace::kRingRecordWords;
  packed.operands = reinterpret_cast<const uint64_t*>(&record) + trace::kRingRecordWords;
  if (const uint32_t strings = trace::StringOperands(packed.kind); strings != 0) {
    for (uint32_t i = 0; i < packed.count; ++i) {
      const uint64_t value = packed.operands[i];
      operands_[i] = (strings >> i & 1) != 0 ? strings_.Find(value) : value;
    }
    packed.operands = operands_;
  }
  if (!columns_.Add(packed)) {
    if (const long error = FlushEvents(); error < 0) return error;
    columns_.Add(packed);
  }
  cursor.position += uint64_t{record.words} * 8;
  return 0;
}

long Drain::AddLosses() {
  uint64_t lost = session_->live->lost_without_ring.load(std::memory_order_relaxed);
  const uint64_t without_ring = lost - lost_reported_without_ring_;
  lost_reported_without_ring_ = lost;
  lost = without_ring;
  for (uint32_t i = 0; i < session_->live->rings.load(std::memory_order_relaxed); ++i) {
    const uint64_t total = session_->rings[i]->lost.load(std::memory_order_relaxed);
    lost += total - cursors_[i].lost;
    cursors_[i].lost = total;
  }
  if (lost == 0) return 0;
  lost_unwritten_ += static_cast<uint32_t>(lost);
  if (limit_reached_) return 0;
  operands_[static_cast<size_t>(trace::LossOperand::kReason)] =
      static_cast<uint64_t>(trace::LossReason::kRingFull);
  operands_[static_cast<size_t>(trace::LossOperand::kEvents)] = lost;
  operands_[static_cast<size_t>(trace::LossOperand::kRing)] = 0;
  return AddOwnRecord(trace::RecordKind::kLoss,
                      static_cast<uint32_t>(trace::LossOperand::kCountOf));
}

void Drain::ReleaseAbandonedRings() {
  for (uint32_t i = 0; i < session_->live->rings.load(std::memory_order_relaxed); ++i) {
    trace::RingHeader* ring = session_->rings[i];
    const auto state = static_cast<trace::RingState>(ring->state.load(std::memory_order_acquire));
    if (state == trace::RingState::kOwned && sys::ThreadIsGone(session_->pid, ring->tid)) {
      ring->state.store(static_cast<uint32_t>(trace::RingState::kAbandoned));
    } else if (state == trace::RingState::kAbandoned &&
               ring->head.load(std::memory_order_acquire) == cursors_[i].flushed) {
      // From here on a new thread may take it.
      ring->state.store(static_cast<uint32_t>(trace::RingState::kUnused),
                        std::memory_order_release);
    }
  }
}

}  // namespace gputrace::interpose

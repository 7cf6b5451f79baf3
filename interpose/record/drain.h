// SPDX-License-Identifier: Apache-2.0
// Moves records from the rings to the trace file, in one order over all threads.
//
// The order is that of the stamps. A record may be published later than a younger one of another
// thread; so a pass goes no further than its horizon: the youngest stamp that no record can still
// come in front of. What a pass cannot write (disk full) stays in the rings and is tried again.
#ifndef GPUTRACE_INTERPOSE_RECORD_DRAIN_H_
#define GPUTRACE_INTERPOSE_RECORD_DRAIN_H_

#include <cstdint>

#include "interpose/record/hash_ids.h"
#include "interpose/record/session.h"
#include "interpose/resolve/coverage.h"
#include "trace/block_encoder.h"
#include "trace/column_encoder.h"
#include "trace/dictionary_encoder.h"

namespace gputrace::interpose {

// All methods are called with the session's drain_lock held, or by the only thread that knows the
// object. Lives in zeroed memory of its own, about 14 MiB of which a quiet program touches little.
class Drain {
 public:
  // Null if there is no memory.
  static Drain* Create(Session* session, const trace::EntryHints* hints, uint32_t hint_count);

  trace::DictionaryEncoder& dictionary() { return dictionary_; }

  // Writes the file header. 0 or -errno, as all that follow.
  long WriteHeader(const char* boot_id);
  // Writes the definitions collected so far as a block; keeps them if that fails.
  long FlushDictionary();

  // One pass. If `everything`, up to what is published now: for when no other thread records, or
  // order among the last records matters less than having them.
  long Pass(bool everything);

  // The end record, the index and the trailer. The rings must have been drained.
  long Finish();

 private:
  struct Cursor {
    uint32_t ring_id;
    bool defined;      // the thread's dictionary record is written or pending
    uint64_t flushed;  // position up to which the trace holds the ring
    uint64_t position;
    uint64_t head;
    uint64_t lost;  // of the ring's losses, those that are in lost_unwritten_ or the file
  };

  uint64_t ReadHorizon(bool everything);
  long Merge(uint64_t horizon);
  // Skips and applies the definitions at the cursor; then *record is the next event, or null.
  long NextEvent(uint32_t ring, const trace::RingRecord** record);
  const trace::RingRecord* At(uint32_t ring) const;
  bool Define(const trace::RingRecord& record);
  bool DefineStack(const trace::RingRecord& record);
  bool DefinePythonStack(const trace::RingRecord& record);
  bool DefineCodeObject(const trace::RingRecord& record);
  bool DefineModule(const trace::RingRecord& record);
  bool DefineThread(uint32_t ring);
  long AddEvent(uint32_t ring, const trace::RingRecord& record);
  long AddLosses();
  long AddCoverage();
  long AddCoverageRecord(trace::CoverageWhat what, const char* symbol, uint32_t count);
  // A record that no thread has made.
  long AddOwnRecord(trace::RecordKind kind, uint32_t count);
  long FlushEvents();
  long WriteBlock(trace::BlockEncoder::Description description, const uint8_t* payload,
                  size_t size);
  bool IsOverLimit(size_t size) const;
  long StopAtLimit();
  void AdvanceTails();
  void Rewind();
  void ReleaseAbandonedRings();
  long WriteIndex();
  uint64_t Units(uint64_t ticks) const {
    return ticks > session_->start_ticks ? (ticks - session_->start_ticks) >> session_->time_shift
                                         : 0;
  }

  static constexpr size_t kDictionaryBytes = 512u << 10;
  static constexpr size_t kBlockBytes = 3u << 20;

  Session* session_;
  uint32_t passes_;
  uint32_t lost_unwritten_;  // losses that no block carries yet
  bool limit_reached_;
  uint64_t lost_reported_without_ring_;
  uint32_t coverage_seen_;                      // CoverageChanges() of what has been added
  uint32_t notes_reported_[kMaxCoverageNotes];  // counts
  uint8_t ways_reported_[kMaxWrappers + 1];
  trace::BlockEncoder blocks_;
  trace::DictionaryEncoder dictionary_;
  HashIds stacks_;
  HashIds python_stacks_;
  HashIds strings_;
  HashIds code_objects_;
  HashIds modules_;
  Cursor cursors_[trace::kMaxRings];
  uint64_t operands_[trace::kMaxOperands];
  uint64_t frames_[2 * trace::kMaxStackDepth];
  trace::ColumnEncoder columns_;
  uint8_t dictionary_buffer_[kDictionaryBytes];
  uint8_t payload_[trace::ColumnEncoder::kMaxPayloadBytes];
  alignas(64) uint8_t block_[kBlockBytes];
};

}  // namespace gputrace::interpose

#endif  // GPUTRACE_INTERPOSE_RECORD_DRAIN_H_

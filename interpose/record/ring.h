// SPDX-License-Identifier: Apache-2.0
// Appending to a thread's ring. What has been published is in a shared mapping of a file: it
// outlives the process whatever kills it.
#ifndef GPUTRACE_INTERPOSE_RECORD_RING_H_
#define GPUTRACE_INTERPOSE_RECORD_RING_H_

#include <cstdint>

#include "interpose/record/clock.h"
#include "interpose/record/thread_state.h"
#include "trace/dictionary_encoder.h"
#include "trace/live.h"

namespace gputrace::interpose {

// Announces that a record is about to be stamped and published. Until EndCommit the writer passes
// on nothing that is younger than what this thread published last: the order of the trace is exact.
inline void BeginCommit(ThreadState* state) {
  state->ring->committing.store(state->last_ticks | 1, std::memory_order_relaxed);
  // The stamp must not be read before the store above is on its way.
  std::atomic_signal_fence(std::memory_order_seq_cst);
}
inline void EndCommit(ThreadState* state) {
  state->ring->committing.store(0, std::memory_order_release);
}

// Announces, and reads the clock: what the thread has just done is stamped before its record is
// made. Good only as long as the thread does not wait for anything.
inline uint64_t TakeStamp(ThreadState* state) {
  BeginCommit(state);
  return state->stamp = ReadTicks(state->clock);
}
// Takes announcement and stamp, if there are any, back.
inline void WithdrawStamp(ThreadState* state) {
  state->stamp = 0;
  EndCommit(state);
}

inline bool HasRoom(const ThreadState* state, uint64_t bytes) {
  return state->head + bytes - state->known_tail <= state->ring_bytes;
}
// False if the ring is full and stays so: the event is lost and counted. Whatever stamp there is
// does not hold after that.
bool WaitForRoom(ThreadState* state, uint64_t bytes);

// Room for a record of `words` words, or null if the event is lost.
inline trace::RingRecord* ReserveRecord(ThreadState* state, uint32_t words) {
  const uint64_t bytes = uint64_t{words} * 8;
  if (!HasRoom(state, bytes) && !WaitForRoom(state, bytes)) return nullptr;
  auto* record =
      reinterpret_cast<trace::RingRecord*>(state->data + (state->head & (state->ring_bytes - 1)));
  record->words = static_cast<uint16_t>(words);
  record->reserved = 0;
  return record;
}

void WakeWriterEarly(ThreadState* state);

// Makes the record that was reserved last, and completed since, part of the trace.
inline void PublishRecord(ThreadState* state, const trace::RingRecord* record) {
  state->head += uint64_t{record->words} * 8;
  state->ring->head.store(state->head, std::memory_order_release);
  if (state->head >= state->wake_at) WakeWriterEarly(state);
}

inline uint64_t* WordsOf(trace::RingRecord* record) {
  return reinterpret_cast<uint64_t*>(record) + trace::kRingRecordWords;
}

// A definition: fixed words, then texts (live.h, RingText).
struct Definition {
  trace::RingOnlyKind kind;
  uint8_t flags = 0;
  uint32_t epoch = 0;
  uint64_t hash = 0;
  const uint64_t* words = nullptr;
  uint32_t word_count = 0;
  const trace::Bytes* texts = nullptr;
  uint32_t text_count = 0;
};
// False if there was no room (counted as a loss) or the texts are longer than a ring may take.
bool PublishDefinition(ThreadState* state, const Definition& definition);

}  // namespace gputrace::interpose

#endif  // GPUTRACE_INTERPOSE_RECORD_RING_H_

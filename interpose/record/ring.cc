// SPDX-License-Identifier: Apache-2.0
#include "interpose/record/ring.h"

#include <cstring>

#include "interpose/record/session.h"
#include "interpose/record/sys.h"

namespace gputrace::interpose {
namespace {

// How long a thread waits for room. The writer needs milliseconds; longer means that it cannot
// write (full disk) or is not there any more.
constexpr uint64_t kStepNs = 200'000;
constexpr uint32_t kMaxSteps = 5'000;

}  // namespace

bool WaitForRoom(ThreadState* state, uint64_t bytes) {
  Session* session = state->session;
  state->stamp = 0;
  for (uint32_t step = 0; step < kMaxSteps; ++step) {
    state->known_tail = state->ring->tail.load(std::memory_order_acquire);
    if (HasRoom(state, bytes)) return true;
    if (session->writer_is_stuck.load(std::memory_order_relaxed)) break;
    // The writer must not wait for the record that this thread is waiting to publish.
    const uint64_t committing = state->ring->committing.load(std::memory_order_relaxed);
    state->ring->committing.store(0, std::memory_order_release);
    WakeWriter(session);
    if (session->after_exit()) DrainNow(session);
    sys::SleepNs(kStepNs);
    state->ring->committing.store(committing, std::memory_order_relaxed);
  }
  // Others need not wait in vain as well; the writer says when it is back.
  session->writer_is_stuck.store(true, std::memory_order_relaxed);
  state->ring->lost.fetch_add(1, std::memory_order_relaxed);
  return false;
}

void WakeWriterEarly(ThreadState* state) {
  state->wake_at = state->head + state->ring_bytes / 4;
  WakeWriter(state->session);
}

bool PublishDefinition(ThreadState* state, const Definition& definition) {
  constexpr size_t kMaxTextBytes = 16u << 10;
  size_t text_bytes = 0;
  for (uint32_t i = 0; i < definition.text_count; ++i) text_bytes += definition.texts[i].size;
  if (text_bytes > kMaxTextBytes) return false;
  const size_t padded_bytes = (text_bytes + 7) / 8 * 8;
  const auto words = static_cast<uint32_t>(trace::kRingRecordWords + definition.word_count +
                                           definition.text_count + padded_bytes / 8);
  trace::RingRecord* record = ReserveRecord(state, words);
  if (record == nullptr) return false;
  record->kind = static_cast<uint8_t>(definition.kind);
  record->flags = definition.flags;
  record->entry = 0;
  record->ticks = 0;
  record->native_hash = definition.hash;
  record->python_hash = 0;
  record->result = 0;
  record->context = 0;
  record->duration_ticks = 0;
  record->epoch = definition.epoch;
  uint64_t* out = WordsOf(record);
  if (definition.word_count > 0) {
    memcpy(out, definition.words, definition.word_count * sizeof(uint64_t));
    out += definition.word_count;
  }
  for (uint32_t i = 0; i < definition.text_count; ++i) *out++ = definition.texts[i].size;
  auto* bytes = reinterpret_cast<uint8_t*>(out);
  memset(bytes, 0, padded_bytes);
  for (uint32_t i = 0; i < definition.text_count; ++i) {
    // A text of no bytes may be null, which memcpy must not be given even for nothing.
    if (definition.texts[i].size == 0) continue;
    memcpy(bytes, definition.texts[i].data, definition.texts[i].size);
    bytes += definition.texts[i].size;
  }
  PublishRecord(state, record);
  return true;
}

}  // namespace gputrace::interpose

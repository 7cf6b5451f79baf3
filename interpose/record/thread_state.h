// SPDX-License-Identifier: Apache-2.0
// What a thread needs to record: its ring and what it has defined there already.
#ifndef GPUTRACE_INTERPOSE_RECORD_THREAD_STATE_H_
#define GPUTRACE_INTERPOSE_RECORD_THREAD_STATE_H_

#include <cstddef>
#include <cstdint>

#include "interpose/hooks/entry_table.h"
#include "interpose/stacks/captured_stack.h"
#include "trace/format.h"
#include "trace/live.h"

namespace gputrace::interpose {

struct Session;
class Unwinder;

// Hashes that this thread's ring has carried a definition for. Forgets everything when it is full:
// defining a thing twice is harmless.
class SeenHashes {
 public:
  // True the first time.
  bool Insert(uint64_t hash) {
    if (4 * count_ >= 3 * kSlots) Clear();
    uint32_t i = static_cast<uint32_t>(hash ^ (hash >> 32)) & (kSlots - 1);
    for (; slots_[i] != 0; i = (i + 1) & (kSlots - 1)) {
      if (slots_[i] == hash) return false;
    }
    slots_[i] = hash;
    ++count_;
    return true;
  }
  void Clear() {
    for (uint64_t& slot : slots_) slot = 0;
    count_ = 0;
  }

 private:
  static constexpr uint32_t kSlots = 4096;
  uint64_t slots_[kSlots];
  uint32_t count_;
};

// One per thread and session, in zeroed memory of its own. Only its thread touches it, but for
// `ring`, which the writer reads.
struct ThreadState {
  Session* session;
  uint64_t generation;  // of the session; a forked child sees that it is not its own
  trace::RingHeader* ring;
  uint8_t* data;  // ring_bytes, mapped twice in a row
  uint64_t ring_bytes;
  trace::ClockSource clock;
  uint64_t head;        // where the next record goes
  uint64_t known_tail;  // no greater than the writer's
  uint64_t wake_at;     // head from which the writer is woken
  uint64_t last_ticks;
  uint64_t stamp;           // of the record that is being made, 0 if it has none yet
  uint64_t context_handle;  // that `context` stands for
  uint32_t context;         // dictionary id
  bool context_known;       // false: the driver is to be asked
  uint32_t module_changes;  // loads and unloads that this thread has looked at
  Unwinder* unwinder;       // null: there was no memory for it
  CapturedStack stack;
  uint8_t untimed_calls[kMaxEntries + 1];  // by entry: how many calls are not to be timed
  SeenHashes seen;
};

// A thread's own; no destructor, since programs call the driver from theirs.
struct ThreadLocal {
  ThreadState* state;
  uint32_t depth;  // of wrapped calls on this thread's stack
};
extern __thread ThreadLocal t_thread
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

}  // namespace gputrace::interpose

#endif  // GPUTRACE_INTERPOSE_RECORD_THREAD_STATE_H_

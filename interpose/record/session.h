// SPDX-License-Identifier: Apache-2.0
// A session is one traced process: its trace file, its rings' file and the writer that moves
// records from the latter to the former. It starts at the first call of a process; a forked child
// has its own.
#ifndef GPUTRACE_INTERPOSE_RECORD_SESSION_H_
#define GPUTRACE_INTERPOSE_RECORD_SESSION_H_

#include <atomic>
#include <cstdint>

#include "interpose/hooks/entry_table.h"
#include "interpose/record/clock.h"
#include "interpose/record/options.h"
#include "interpose/record/output_file.h"
#include "interpose/record/text_buffer.h"
#include "interpose/record/thread_state.h"
#include "trace/live.h"

namespace gputrace::interpose {

class Drain;

enum class SessionStage : uint32_t {
  kNone = 0,  // also what a forked child finds
  kStarting,
  kRunning,
  kAfterExit,  // the exit handler has finished the trace: calls are written at once
  kOff,        // disabled, or could not start
};

// In a page that the kernel wipes in forked children, so that they need no handler to notice: this
// also covers clone() and _Fork().
struct ForkPage {
  std::atomic<SessionStage> stage;
  std::atomic<uint32_t> ring_lock;   // attaching a ring, defining a context
  std::atomic<uint32_t> drain_lock;  // writing to the trace
  std::atomic<uint64_t> generation;  // nonzero while this process's session runs
};

struct Session {
  Options options;
  ForkPage* page;
  trace::ClockSource clock;
  uint64_t generation;
  uint32_t pid;
  uint8_t trace_id[16];
  uint64_t start_ticks;
  uint64_t start_monotonic_ns;
  uint64_t start_realtime_ns;
  uint64_t ticks_per_second;
  uint8_t time_shift;

  PathBuffer executable;
  PathBuffer trace_path;
  PathBuffer live_path;
  OutputFile output;

  trace::LiveHeader* live;
  trace::RingHeader* rings[trace::kMaxRings];  // set before live->rings counts them
  uint8_t* ring_data[trace::kMaxRings];
  ThreadState* states[trace::kMaxRings];  // of the rings' owners; taken over with them
  uint32_t next_ring_id;                  // under ring_lock

  static constexpr uint32_t kMaxContexts = 4096;
  uint64_t contexts[kMaxContexts];  // handles by id - 1; under ring_lock
  uint32_t context_count;
  std::atomic<bool> devices_defined;      // set under ring_lock
  std::atomic<uint32_t> modules_defined;  // load/unload counter up to which modules are defined
  std::atomic<int32_t> captures;          // streams that are capturing
  // Ticks from which on the driver may be asked again (samples.h).
  std::atomic<uint64_t> device_sample_at;
  std::atomic<uint64_t> pool_sample_at;
  std::atomic<uint64_t> graph_sample_at;
  bool wants_stack[kMaxEntries + 1];  // by entry

  Drain* drain;
  std::atomic<uint32_t> stop_writer;
  std::atomic<uint32_t> writer_stopped;  // futex
  std::atomic<bool> writer_is_stuck;
  uint64_t signal_mask;                 // of the thread that started the writer
  std::atomic<uint64_t> writer_cpu_ns;  // used by the writer so far

  bool after_exit() const {
    return page->stage.load(std::memory_order_relaxed) == SessionStage::kAfterExit;
  }
};

// The calling thread's state in this process's session, both made if need be; null if nothing is
// being recorded. Fast if they exist. Preserves errno.
ThreadState* AcquireThreadState();

void WakeWriter(Session* session);

// Moves what is in the rings to the trace on the calling thread. For the time after the writer.
void DrainNow(Session* session);

// Spins, yielding: for short sections outside the path of an ordinary call.
class ForkSafeLock {
 public:
  explicit ForkSafeLock(std::atomic<uint32_t>* word) : word_(word) {
    while (word_->exchange(1, std::memory_order_acquire) != 0) sys::Yield();
  }
  ~ForkSafeLock() { word_->store(0, std::memory_order_release); }
  ForkSafeLock(const ForkSafeLock&) = delete;
  ForkSafeLock& operator=(const ForkSafeLock&) = delete;

 private:
  std::atomic<uint32_t>* word_;
};

}  // namespace gputrace::interpose

#endif  // GPUTRACE_INTERPOSE_RECORD_SESSION_H_

// SPDX-License-Identifier: Apache-2.0
#include "interpose/record/writer.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>

#include <cstring>

#include "interpose/record/drain.h"
#include "interpose/record/log.h"
#include "interpose/record/process.h"
#include "interpose/record/rings_file.h"
#include "interpose/record/session_facts.h"
#include "interpose/resolve/elf_lookup.h"
#include "interpose/resolve/wrappers.h"

namespace gputrace::interpose {
namespace {

constexpr uint64_t kIntervalNs = 50'000'000;
constexpr uint64_t kIntervalAfterErrorNs = 500'000'000;
constexpr uint64_t kExitPatienceNs = 2'000'000'000;
// Two passes at exit are this far apart: a thread that was publishing when the stage changed has
// then finished.
constexpr uint64_t kSettleNs = 200'000;
constexpr size_t kSignalSetBytes = 8;

long PassLocked(Session* session, bool everything) {
  const ForkSafeLock lock(&session->page->drain_lock);
  return session->drain->Pass(everything);
}

// Here and not at the session's start, where a call of the program waits.
void AddDriverFacts(Session* session) {
  const DriverExports exports = CountDriverExports();
  const ForkSafeLock lock(&session->page->drain_lock);
  AddExports(exports, &session->drain->dictionary());
}

void* WriterMain(void* argument) {
  auto* session = static_cast<Session*>(argument);
  sys::Call(SYS_prctl, PR_SET_NAME, sys::Pointer("gputrace"));
  long last_error = 0;
  AddDriverFacts(session);
  bool is_last = false;
  while (session->stop_writer.load(std::memory_order_acquire) == 0 && !is_last) {
    const uint32_t wake = session->live->wake.load(std::memory_order_acquire);
    const long error = PassLocked(session, false);
    if (error < 0 && last_error == 0) {
      Log(session->options.log, "cannot write, will try again: ", session->trace_path.c_str(),
          error);
    }
    last_error = error;
    session->writer_cpu_ns.store(ReadNs(CLOCK_THREAD_CPUTIME_ID), std::memory_order_relaxed);
    sys::FutexWait(&session->live->wake, wake, error < 0 ? kIntervalAfterErrorNs : kIntervalNs);
    is_last = IsLastThread();
  }
  session->writer_stopped.store(1, std::memory_order_release);
  sys::FutexWake(&session->writer_stopped);
  // Without us the program would have ended with its last own thread: libc runs its exit handlers
  // on this one now. They must be open to signals.
  if (is_last) {
    sys::Call(SYS_rt_sigprocmask, SIG_SETMASK, sys::Pointer(&session->signal_mask), 0,
              kSignalSetBytes);
  }
  return nullptr;
}

void StopWriter(Session* session) {
  session->stop_writer.store(1, std::memory_order_release);
  WakeWriter(session);
  const uint64_t deadline = ReadNs(CLOCK_MONOTONIC) + kExitPatienceNs;
  while (session->writer_stopped.load(std::memory_order_acquire) == 0 &&
         ReadNs(CLOCK_MONOTONIC) < deadline) {
    sys::FutexWait(&session->writer_stopped, 0, kExitPatienceNs / 20);
  }
}

}  // namespace

void StartWriter(Session* session) {
  using CreateFunction = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  const auto create = reinterpret_cast<CreateFunction>(FindInLibc("pthread_create"));
  if (create == nullptr) {
    session->writer_stopped.store(1);
    return;
  }
  uint64_t all = ~uint64_t{0};
  sys::Call(SYS_rt_sigprocmask, SIG_BLOCK, sys::Pointer(&all), sys::Pointer(&session->signal_mask),
            kSignalSetBytes);
  pthread_t thread;
  if (create(&thread, nullptr, WriterMain, session) != 0) {
    session->writer_stopped.store(1);
    Log(session->options.log, "cannot start the writer thread");
  }
  sys::Call(SYS_rt_sigprocmask, SIG_SETMASK, sys::Pointer(&session->signal_mask), 0,
            kSignalSetBytes);
}

void FinishSession(Session* session) {
  StopWriter(session);
  // From here on threads write what they record themselves.
  session->page->stage.store(SessionStage::kAfterExit, std::memory_order_seq_cst);
  PassLocked(session, true);
  sys::SleepNs(kSettleNs);
  const ForkSafeLock lock(&session->page->drain_lock);
  long error = session->drain->Pass(true);
  AddCosts(*session, &session->drain->dictionary());
  if (error == 0) error = session->drain->Finish();
  if (error == 0) {
    RemoveRingsFile(session);
  } else {
    Log(session->options.log,
        "cannot end the trace; its rings are kept: ", session->live_path.c_str(), error);
  }
}

void WakeWriter(Session* session) {
  session->live->wake.fetch_add(1, std::memory_order_release);
  sys::FutexWake(&session->live->wake);
}

void DrainNow(Session* session) { PassLocked(session, true); }

}  // namespace gputrace::interpose

// SPDX-License-Identifier: Apache-2.0
// Starting a session and attaching threads to it.
#include "interpose/record/session.h"

#include <cerrno>
#include <cstring>

#include "interpose/hooks/entry_table.h"
#include "interpose/record/drain.h"
#include "interpose/record/log.h"
#include "interpose/record/process.h"
#include "interpose/record/rings_file.h"
#include "interpose/record/session_facts.h"
#include "interpose/record/writer.h"
#include "interpose/resolve/elf_lookup.h"
#include "interpose/stacks/code_map.h"

extern "C" char** environ;

namespace gputrace::interpose {
namespace {

// One per process. A forked child finds its parent's content and starts over.
Session g_session;
std::atomic<ForkPage*> g_fork_page;
trace::EntryHints g_hints[kMaxEntries + 1];

struct StartReadings {
  uint64_t ticks;
  uint64_t monotonic_ns;
};
StartReadings g_load_readings;
Options g_options;
std::atomic<bool> g_loaded;

constexpr uint64_t kPageBytes = 4096;

ForkPage* FindForkPage() {
  ForkPage* page = g_fork_page.load(std::memory_order_acquire);
  if (page != nullptr) return page;
  page = static_cast<ForkPage*>(sys::MapPrivate(kPageBytes));
  if (page == nullptr) return nullptr;
  constexpr int kWipeOnFork = 18;  // MADV_WIPEONFORK, Linux 4.14
  // Without it a forked child could not tell that it is one, and would write into its parent's
  // rings.
  if (sys::Advise(page, kPageBytes, kWipeOnFork) < 0) {
    sys::Unmap(page, kPageBytes);
    Log(g_options.log, "the kernel lacks MADV_WIPEONFORK (Linux 4.14): nothing is recorded");
    g_options.disabled = true;
    return nullptr;
  }
  ForkPage* expected = nullptr;
  if (!g_fork_page.compare_exchange_strong(expected, page)) {
    sys::Unmap(page, kPageBytes);
    return expected;
  }
  return page;
}

void MakeHints() {
  for (uint16_t id = 1; id <= kEntryCount; ++id) {
    const StaticEntry& entry = kEntries[id];
    trace::EntryHints& hints = g_hints[id];
    hints = {};
    for (uint32_t i = 0; i < entry.operand_count && i < trace::EntryHints::kMax; ++i) {
      hints.operands[i] = {entry.operands[i].role, entry.operands[i].predictor};
      ++hints.count;
      if (!entry.operands[i].out) ++hints.in_count;
    }
  }
}

// Of which calls the stack is captured.
void ChooseStacks(Session* session) {
  const Options& options = session->options;
  for (uint16_t id = 1; id <= kEntryCount; ++id) {
    const StaticEntry& entry = kEntries[id];
    session->wants_stack[id] = options.stacks != StackMode::kOff &&
                               entry.entry_class == trace::EntryClass::kRecord &&
                               (!entry.intent || options.free_stacks);
  }
}

// The rate of the clock, from the readings at load and now. It need only be good enough for the
// writer's guard interval and for a trace that has no block.
void MeasureClock(Session* session) {
  session->clock = FindClockSource();
  session->start_ticks = ReadTicks(session->clock);
  session->start_monotonic_ns = ReadNs(CLOCK_MONOTONIC);
  session->start_realtime_ns = ReadNs(CLOCK_REALTIME);
  session->ticks_per_second = 1'000'000'000;
  const uint64_t elapsed = session->start_monotonic_ns - g_load_readings.monotonic_ns;
  if (session->clock == trace::ClockSource::kTsc && elapsed > 0) {
    const uint64_t ticks = session->start_ticks - g_load_readings.ticks;
    session->ticks_per_second =
        static_cast<uint64_t>(static_cast<double>(ticks) * 1e9 / static_cast<double>(elapsed));
  }
  // Units of 64 to 128 ns.
  constexpr uint64_t kUnitsPerSecond = 1'000'000'000 / 128;
  session->time_shift = 0;
  while (session->ticks_per_second >> (session->time_shift + 1) >= kUnitsPerSecond) {
    ++session->time_shift;
  }
}

long OpenOutput(Session* session, const ProcessInfo& process) {
  const char* pattern =
      session->options.output != nullptr ? session->options.output : kDefaultOutput;
  const OutputNames names{process.pid, session->start_realtime_ns / 1'000'000'000,
                          process.host.c_str(), process.rank.c_str(), process.program.c_str()};
  PathBuffer expanded;
  ExpandOutputPath(pattern, names, &expanded);
  session->trace_path.Clear();
  // Programs change their directory; the rings' file and readers need the whole path.
  if (expanded.c_str()[0] != '/') session->trace_path.Add(process.directory.c_str()).Add('/');
  session->trace_path.Add(expanded.c_str());
  session->output.Reset();
  return session->output.Create(&session->trace_path);
}

// Everything but the page's stage, which tells the other threads, is set up here.
bool StartSession(Session* session, ForkPage* page) {
  memset(static_cast<void*>(session), 0, sizeof(*session));
  session->page = page;
  session->options = g_options;
  if (session->options.disabled) return false;
  // In the static storage and not on the stack: some threads have little of it.
  static ProcessInfo process;
  process = {};
  ReadProcess(&process);
  if (!session->options.children && ParentIsTraced(process.parent)) return false;
  MeasureClock(session);
  session->pid = process.pid;
  session->executable = process.executable;
  sys::Call(SYS_getrandom, sys::Pointer(session->trace_id), sizeof(session->trace_id), 0);
  memcpy(&session->generation, session->trace_id, sizeof(session->generation));
  session->generation |= 1;
  if (const long error = OpenOutput(session, process); error < 0) {
    Log(session->options.log, "cannot create the trace: ", session->trace_path.c_str(), error);
    return false;
  }
  if (const long error = CreateRingsFile(session, process.start_time); error < 0) {
    Log(session->options.log, "cannot create the rings' file: ", session->live_path.c_str(), error);
    return false;
  }
  UseFindObject(FindInLibc("_dl_find_object"));
  MakeHints();
  ChooseStacks(session);
  session->drain = Drain::Create(session, g_hints, kEntryCount + 1);
  if (session->drain == nullptr) {
    Log(session->options.log, "no memory for the writer");
    return false;
  }
  long error = session->drain->WriteHeader(process.boot_id.c_str());
  if (error == 0) {
    AddSessionFacts(*session, process, &session->drain->dictionary());
    AddEntries(&session->drain->dictionary());
    error = session->drain->FlushDictionary();
  }
  if (error < 0) Log(session->options.log, "cannot write: ", session->trace_path.c_str(), error);
  return true;
}

// Usually our constructor; but constructors of libraries that the program is linked to run before
// it, and may call the driver.
void LoadOnce() {
  if (g_loaded.load(std::memory_order_acquire)) return;
  g_options = ReadOptions(environ);
  g_load_readings = {ReadTicks(FindClockSource()), ReadNs(CLOCK_MONOTONIC)};
  g_loaded.store(true, std::memory_order_release);
}

// The first call of the process starts the session; calls of other threads wait for it.
SessionStage EnterSession(ForkPage* page) {
  SessionStage stage = page->stage.load(std::memory_order_acquire);
  while (stage == SessionStage::kNone || stage == SessionStage::kStarting) {
    if (stage == SessionStage::kNone &&
        page->stage.compare_exchange_strong(stage, SessionStage::kStarting)) {
      const bool started = StartSession(&g_session, page);
      stage = started ? SessionStage::kRunning : SessionStage::kOff;
      if (started) {
        page->generation.store(g_session.generation, std::memory_order_release);
        StartWriter(&g_session);
      }
      page->stage.store(stage, std::memory_order_release);
      return stage;
    }
    sys::Yield();
    stage = page->stage.load(std::memory_order_acquire);
  }
  return stage;
}

[[gnu::noinline]] ThreadState* AttachThread() {
  LoadOnce();
  if (g_options.disabled || g_options.paused) return nullptr;
  const int saved_errno = errno;
  ThreadState* state = nullptr;
  ForkPage* page = FindForkPage();
  if (page != nullptr) {
    const SessionStage stage = EnterSession(page);
    if (stage == SessionStage::kRunning || stage == SessionStage::kAfterExit) {
      // A state of the parent's is useless here: its ring is the parent's.
      if (t_thread.state == nullptr || t_thread.state->generation != g_session.generation) {
        t_thread.state = MakeThreadState(&g_session);
      }
      state = t_thread.state;
      if (state == nullptr) {
        g_session.live->lost_without_ring.fetch_add(1, std::memory_order_relaxed);
      }
    }
  }
  errno = saved_errno;
  return state;
}

__attribute__((constructor)) void OnLoad() { LoadOnce(); }

__attribute__((destructor)) void OnExit() {
  ForkPage* page = g_fork_page.load(std::memory_order_acquire);
  if (page == nullptr) return;
  const int saved_errno = errno;
  if (page->stage.load(std::memory_order_acquire) == SessionStage::kRunning) {
    FinishSession(&g_session);
  }
  errno = saved_errno;
}

}  // namespace

__thread ThreadLocal t_thread __attribute__((tls_model("initial-exec")));

ThreadState* AcquireThreadState() {
  ThreadState* state = t_thread.state;
  if (state != nullptr &&
      state->generation == g_session.page->generation.load(std::memory_order_relaxed)) {
    return state;
  }
  if (g_options.disabled || g_options.paused) return nullptr;
  return AttachThread();
}

}  // namespace gputrace::interpose

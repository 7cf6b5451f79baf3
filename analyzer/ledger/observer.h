// SPDX-License-Identifier: Apache-2.0
// The typed stream of changes that a ledger makes out of a trace's records. Analyses observe it.
#ifndef GPUTRACE_ANALYZER_LEDGER_OBSERVER_H_
#define GPUTRACE_ANALYZER_LEDGER_OBSERVER_H_

#include <cstdint>

#include "analyzer/ledger/allocation.h"

namespace gputrace::ledger {

struct FreeEvent {
  int64_t time_ns = 0;
  FreeCause cause = FreeCause::kCall;
  bool after_exit = false;    // the process was past its exit handlers
  uint32_t native_stack = 0;  // of the call; dictionary id, 0: none
  uint32_t thread = 0;
};

struct Failure {
  uint32_t process = 0;
  int64_t time_ns = 0;
  int32_t result = 0;  // CUresult
  Account account = Account::kDevice;
  int32_t device = kHost;
  uint64_t bytes = 0;  // that were asked for; 0 if the call does not say
  uint32_t site = 0;
  uint16_t entry = 0;
};

enum class SampleKind : uint8_t { kDeviceMemory, kPool, kGraphMemory };
inline constexpr uint64_t kUnknownValue = ~uint64_t{0};

// What the driver said of itself.
struct Sample {
  uint32_t process = 0;
  int64_t time_ns = 0;
  SampleKind kind = SampleKind::kDeviceMemory;
  int32_t device = kHost;
  uint64_t object = 0;  // the pool's handle
  uint32_t thread = 0;  // that asked
  // Of kDeviceMemory: KindBit()s of what the call before it made or ended, 0 if it stands for
  // itself. Then the same thread's sample before it was taken before that call.
  uint64_t causes = 0;
  // kDeviceMemory: free and total. Otherwise the bytes reserved and used at that moment.
  // kUnknownValue: not part of this sample.
  uint64_t first = kUnknownValue;
  uint64_t second = kUnknownValue;
};

// A free, release or unmapping that the driver refused.
struct FailedFree {
  int64_t time_ns = 0;
  int32_t result = 0;  // CUresult
  uint32_t site = 0;   // of the call
  uint16_t entry = 0;
};

// All times are of the job's clock. Calls come in order of time within a process, and over several
// processes as far as their clocks agree.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void OnAllocate(const Allocation&) {}
  virtual void OnFree(const Allocation&, const FreeEvent&) {}
  // A free turned out to have failed: what OnFree reported with `undone` is live after all, perhaps
  // in another slot.
  virtual void OnTakeBack(const Allocation&, const FreeEvent& /*undone*/, int64_t /*time_ns*/) {}
  // It was not freed, released or unmapped: the driver refused. Comes after OnTakeBack if there is
  // one.
  virtual void OnFailedFree(const Allocation&, const FailedFree&) {}
  // It is counted as freed; then it became clear that the driver had gone before that call.
  virtual void OnTeardown(const Allocation&, const FreeEvent&) {}
  // The size of imported memory became known by mapping it. The allocation has its new size.
  virtual void OnResize(const Allocation&, uint64_t /*old_bytes*/, int64_t /*time_ns*/) {}
  // Its process ended before others of the job did: never freed, but held no longer.
  virtual void OnProcessEnd(const Allocation&, int64_t /*time_ns*/) {}
  virtual void OnFailure(const Failure&) {}
  virtual void OnSample(const Sample&) {}
};

}  // namespace gputrace::ledger

#endif  // GPUTRACE_ANALYZER_LEDGER_OBSERVER_H_

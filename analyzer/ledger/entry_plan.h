// SPDX-License-Identifier: Apache-2.0
// What a ledger does for a driver entry: its descriptor's effects, prepared for being applied to
// millions of records.
#ifndef GPUTRACE_ANALYZER_LEDGER_ENTRY_PLAN_H_
#define GPUTRACE_ANALYZER_LEDGER_ENTRY_PLAN_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/container/inlined_vector.h"
#include "trace/descriptor.h"
#include "trace/format.h"

namespace gputrace::ledger {

enum class Action : uint8_t {
  kOpen,
  kImport,  // a handle of memory that belongs to another process
  kExport,
  kClose,
  kRelease,  // takes back one of several references
  kRetainHandle,
  kMap,
  kUnmap,
  kBind,
  kUnbind,
  kOpenContext,
  kCloseContext,
  kRetainContext,
  kReleaseContext,
  kRetainPrimary,
  kReleasePrimary,
  kResetPrimary,
  kGreenContext,  // tells which context a green context is used through
  kLearnPool,
  kSamplePool,
  kSampleDevice,
  kSampleGraph,
  kGraphAddress,  // an address that a graph will allocate
  kLaunch,
  kSyncStream,
  kSyncContext,
  kSyncEvent,
  kRecordEvent,
  kWaitEvent,
  kBeginCapture,
  kEndCapture,
};

struct Step {
  Action action = Action::kOpen;
  trace::ObjectKind kind = trace::ObjectKind::kDevice;  // the first of `kinds`
  uint64_t kinds = 0;
};

struct EntryPlan {
  static constexpr int8_t kAbsent = -1;
  using Positions = std::array<int8_t, trace::kLastRole + 1>;

  bool known = false;  // the trace describes the entry
  bool intent = false;
  uint8_t in_operands = 0;
  uint64_t kinds = 0;              // KindBit()s of all that it has an effect on
  int8_t second_handle = kAbsent;  // what is bound; the first is what it is bound to
  absl::InlinedVector<Step, 2> steps;
  Positions in{};   // role -> position of the first in operand of that role
  Positions out{};  // role -> position of the first out operand of that role

  explicit EntryPlan(const trace::EntryDescriptor& descriptor);
  EntryPlan();
};

// A record's operands by role.
class Operands {
 public:
  Operands(const EntryPlan& plan, std::span<const uint64_t> values)
      : plan_(plan), values_(values) {}

  // False if the entry has no such operand, or the record does not carry it.
  bool In(trace::Role role, uint64_t* value) const { return At(plan_.in, role, value); }
  bool Out(trace::Role role, uint64_t* value) const { return At(plan_.out, role, value); }
  // An out operand if there is one: what came of the call. Else the in operand.
  bool Any(trace::Role role, uint64_t* value) const { return Out(role, value) || In(role, value); }
  bool SecondHandle(uint64_t* value) const { return At(plan_.second_handle, value); }
  uint64_t InOr(trace::Role role, uint64_t fallback) const {
    uint64_t value = fallback;
    In(role, &value);
    return value;
  }
  // The n-th operand counted from the first out operand.
  bool NthOut(size_t n, uint64_t* value) const {
    const size_t position = plan_.in_operands + n;
    if (position >= values_.size()) return false;
    *value = values_[position];
    return true;
  }

 private:
  bool At(const EntryPlan::Positions& positions, trace::Role role, uint64_t* value) const {
    return At(positions[static_cast<size_t>(role)], value);
  }
  bool At(int8_t position, uint64_t* value) const {
    if (position < 0 || static_cast<size_t>(position) >= values_.size()) return false;
    *value = values_[static_cast<size_t>(position)];
    return true;
  }

  const EntryPlan& plan_;
  std::span<const uint64_t> values_;
};

// The role of the operand that tells objects of a kind apart.
trace::Role KeyRole(trace::ObjectKind kind);

}  // namespace gputrace::ledger

#endif  // GPUTRACE_ANALYZER_LEDGER_ENTRY_PLAN_H_

// SPDX-License-Identifier: Apache-2.0
#include "analyzer/ledger/entry_plan.h"

#include <bit>
#include <optional>

namespace gputrace::ledger {
namespace {

using trace::KindBit;
using trace::ObjectKind;
using trace::Role;
using trace::Verb;

constexpr uint64_t kContexts = KindBit(ObjectKind::kContext);
constexpr uint64_t kPrimary = KindBit(ObjectKind::kPrimaryContext);
constexpr uint64_t kImports = KindBit(ObjectKind::kIpcImport);
constexpr uint64_t kHandles = KindBit(ObjectKind::kVmmHandle);

std::optional<Action> ActionOfOpen(uint64_t kinds) {
  if (kinds & KindBit(ObjectKind::kProcess)) return std::nullopt;
  if (kinds & kContexts) return Action::kOpenContext;
  if (kinds & KindBit(ObjectKind::kGraphNode)) return Action::kGraphAddress;
  if ((kinds & kHandles) && (kinds & kImports)) return Action::kImport;
  return Action::kOpen;
}

std::optional<Action> ActionOf(Verb verb, uint64_t kinds) {
  switch (verb) {
    case Verb::kOpen:
      return ActionOfOpen(kinds);
    case Verb::kClose:
      return (kinds & kContexts) ? Action::kCloseContext : Action::kClose;
    case Verb::kRetain:
      if (kinds & kHandles) return Action::kRetainHandle;
      if (kinds & kPrimary) return Action::kRetainPrimary;
      if (kinds & kContexts) return Action::kRetainContext;
      return std::nullopt;
    case Verb::kRelease:
      if (kinds & kPrimary) return Action::kReleasePrimary;
      if (kinds & kContexts) return Action::kReleaseContext;
      return Action::kRelease;
    case Verb::kMap:
      if (kinds & KindBit(ObjectKind::kMapping)) return Action::kMap;
      return std::nullopt;
    case Verb::kUnmap:
      if (kinds & KindBit(ObjectKind::kMapping)) return Action::kUnmap;
      return std::nullopt;
    case Verb::kBind:
      if (kinds & KindBit(ObjectKind::kMulticast)) return Action::kBind;
      return std::nullopt;
    case Verb::kUnbind:
      if (kinds & KindBit(ObjectKind::kMulticast)) return Action::kUnbind;
      return std::nullopt;
    case Verb::kReset:
      if (kinds & kPrimary) return Action::kResetPrimary;
      return std::nullopt;
    case Verb::kSync:
      if (kinds & KindBit(ObjectKind::kStream)) return Action::kSyncStream;
      if (kinds & KindBit(ObjectKind::kEvent)) return Action::kSyncEvent;
      if (kinds & kContexts) return Action::kSyncContext;
      return std::nullopt;
    case Verb::kWait:
      if (kinds & KindBit(ObjectKind::kEvent)) return Action::kWaitEvent;
      return std::nullopt;
    case Verb::kCaptureBegin:
      return Action::kBeginCapture;
    case Verb::kCaptureEnd:
      return Action::kEndCapture;
    case Verb::kLaunch:
      return Action::kLaunch;
    case Verb::kExport:
      return Action::kExport;
    case Verb::kSet:
    case Verb::kQuery:
      if (verb == Verb::kSet && (kinds & KindBit(ObjectKind::kEvent))) return Action::kRecordEvent;
      if (kinds & KindBit(ObjectKind::kPool)) return Action::kLearnPool;
      if (kinds & KindBit(ObjectKind::kGreenContext)) return Action::kGreenContext;
      return std::nullopt;
    case Verb::kSample:
      if (kinds & KindBit(ObjectKind::kPool)) return Action::kSamplePool;
      if (kinds & KindBit(ObjectKind::kGraph)) return Action::kSampleGraph;
      if (kinds & KindBit(ObjectKind::kDevice)) return Action::kSampleDevice;
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace

EntryPlan::EntryPlan() {
  in.fill(kAbsent);
  out.fill(kAbsent);
}

EntryPlan::EntryPlan(const trace::EntryDescriptor& descriptor) : EntryPlan() {
  known = true;
  intent = descriptor.intent;
  for (const trace::Effect& effect : descriptor.effects) {
    if (effect.kinds == 0) continue;
    kinds |= effect.kinds;
    const std::optional<Action> action = ActionOf(effect.verb, effect.kinds);
    if (!action.has_value()) continue;
    const auto kind = static_cast<ObjectKind>(std::countr_zero(effect.kinds));
    steps.push_back({*action, kind, effect.kinds});
  }
  for (size_t i = 0; i < descriptor.operands.size() && i < trace::kMaxOperands; ++i) {
    const trace::OperandDescriptor& operand = descriptor.operands[i];
    const auto role = static_cast<size_t>(operand.role);
    if (role >= in.size()) continue;  // of a newer version
    int8_t& position = operand.out ? out[role] : in[role];
    const bool is_second = operand.role == Role::kHandle && !operand.out && position != kAbsent;
    if (is_second && second_handle == kAbsent) second_handle = static_cast<int8_t>(i);
    if (position == kAbsent) position = static_cast<int8_t>(i);
    if (!operand.out) ++in_operands;
  }
}

Role KeyRole(ObjectKind kind) {
  switch (kind) {
    case ObjectKind::kPool:
      return Role::kPool;
    case ObjectKind::kVmmHandle:
    case ObjectKind::kMulticast:
    case ObjectKind::kExternalMemory:
      return Role::kHandle;
    case ObjectKind::kArray:
    case ObjectKind::kMipmap:
      return Role::kArray;
    case ObjectKind::kGraph:
      return Role::kGraph;
    case ObjectKind::kGraphExec:
      return Role::kGraphExec;
    case ObjectKind::kGraphNode:
      return Role::kNode;
    case ObjectKind::kContext:
    case ObjectKind::kPrimaryContext:
    case ObjectKind::kGreenContext:
      return Role::kContext;
    case ObjectKind::kModule:
      return Role::kModule;
    case ObjectKind::kLibrary:
      return Role::kLibrary;
    case ObjectKind::kStream:
      return Role::kStream;
    case ObjectKind::kEvent:
      return Role::kEvent;
    case ObjectKind::kTexture:
      return Role::kValue;
    default:
      return Role::kAddress;
  }
}

}  // namespace gputrace::ledger

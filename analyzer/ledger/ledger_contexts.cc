// SPDX-License-Identifier: Apache-2.0
// Contexts, and what ends with them without being freed by a call of its own.
#include "analyzer/ledger/ledger.h"

namespace gputrace::ledger {

using trace::ObjectKind;
using trace::Record;
using trace::Role;

namespace {

// Stream-ordered memory, cuMemCreate's memory, address ranges, pools, graphs and libraries stay
// (cuda.h: cuCtxDestroy, cuMemAllocAsync, cuMemCreate, cuLibraryLoadData).
bool EndsWithContext(ObjectKind kind) {
  switch (kind) {
    case ObjectKind::kDevice:
    case ObjectKind::kManaged:
    case ObjectKind::kPinned:
    case ObjectKind::kRegistered:
    case ObjectKind::kArray:
    case ObjectKind::kMipmap:
    case ObjectKind::kIpcImport:
    case ObjectKind::kExternalMemory:
    case ObjectKind::kExternalBuffer:
    case ObjectKind::kModule:
    case ObjectKind::kStream:
    case ObjectKind::kEvent:
    case ObjectKind::kTexture:
      return true;
    default:
      return false;
  }
}

}  // namespace

void Ledger::OpenContext(const Operands& operands, const Record& record) {
  uint64_t handle = 0;
  uint64_t device = 0;
  if (!operands.Any(Role::kContext, &handle) || !operands.In(Role::kDevice, &device)) {
    ++counters_.malformed;
    return;
  }
  const uint32_t context = contexts_.Create(handle, DeviceOfOrdinal(device));
  if (const Allocation* stale = objects_.FindHandle(ObjectKind::kContext, handle);
      stale != nullptr) {
    ++counters_.unseen_frees;
    End(*stale, FreeCause::kUnseen, record, nullptr);
  }
  Allocation object = Describe(ObjectKind::kContext, handle, record);
  object.context = context;
  object.device = contexts_[context].device;
  Allocate(object);
}

void Ledger::CloseContext(const Operands& operands, const Record& record, Pending* log) {
  uint64_t handle = 0;
  if (!operands.Any(Role::kContext, &handle)) {
    ++counters_.malformed;
    return;
  }
  const uint32_t context = contexts_.OfHandle(handle);
  if (context != 0) EndContext(context, record, log);
}

void Ledger::RetainContext(const Operands& operands, const Record&) {
  uint64_t handle = 0;
  if (!operands.Any(Role::kContext, &handle)) return;
  const uint32_t context = contexts_.OfHandle(handle);
  if (context != 0) ++contexts_[context].references;
}

void Ledger::ReleaseContext(const Operands& operands, const Record& record, Pending* log) {
  uint64_t handle = 0;
  if (!operands.Any(Role::kContext, &handle)) return;
  DropReference(contexts_.OfHandle(handle), record, log);
}

void Ledger::RetainPrimary(const Operands& operands, const Record& record) {
  uint64_t ordinal = 0;
  if (!operands.In(Role::kDevice, &ordinal)) {
    ++counters_.malformed;
    return;
  }
  const int32_t device = DeviceOfOrdinal(ordinal);
  uint64_t handle = 0;
  const uint32_t context = operands.Out(Role::kContext, &handle) && handle != 0
                               ? contexts_.NamePrimary(handle, device)
                               : contexts_.Primary(device);
  HoldPrimary(context, record);
}

// The first to hold a primary context makes it; one whose handle is unknown is no object yet.
void Ledger::HoldPrimary(uint32_t context, const Record& record) {
  ContextState& state = contexts_[context];
  ++state.references;
  state.alive = true;
  if (state.handle == 0 || objects_.FindHandle(ObjectKind::kContext, state.handle) != nullptr) {
    return;
  }
  // Describing may meet a context for the first time, which moves the others.
  const int32_t device = state.device;
  Allocation object = Describe(ObjectKind::kContext, state.handle, record);
  object.context = context;
  object.device = device;
  object.primary = true;
  Allocate(object);
}

void Ledger::ReleasePrimary(const Operands& operands, const Record& record, Pending* log) {
  uint64_t ordinal = 0;
  if (!operands.In(Role::kDevice, &ordinal)) {
    ++counters_.malformed;
    return;
  }
  DropReference(contexts_.Primary(DeviceOfOrdinal(ordinal)), record, log);
}

void Ledger::ResetPrimary(const Operands& operands, const Record& record, Pending* log) {
  uint64_t ordinal = 0;
  if (!operands.In(Role::kDevice, &ordinal)) {
    ++counters_.malformed;
    return;
  }
  EndContext(contexts_.Primary(DeviceOfOrdinal(ordinal)), record, log);
}

// A context whose references were never seen is not known to end.
void Ledger::DropReference(uint32_t context, const Record& record, Pending* log) {
  if (context == 0 || contexts_[context].references == 0) return;
  if (contexts_[context].references == 1) {
    EndContext(context, record, log);
    return;
  }
  if (log != nullptr) {
    Undo& undo = log->undo.emplace_back();
    undo.kind = Undo::Kind::kContext;
    undo.context = context;
    undo.state = contexts_[context];
  }
  --contexts_[context].references;
}

void Ledger::EndContext(uint32_t context, const Record& record, Pending* log) {
  ContextState& state = contexts_[context];
  if (log != nullptr) {
    Undo& undo = log->undo.emplace_back();
    undo.kind = Undo::Kind::kContext;
    undo.context = context;
    undo.state = state;
  }
  state.alive = false;
  state.references = 0;
  stream_order_.EndContext(context, record);
  for (size_t slot = 0; slot < objects_.slots().size(); ++slot) {
    const Allocation& allocation = objects_.slots()[slot];
    if (!allocation.live || allocation.context != context) continue;
    if (EndsWithContext(allocation.kind)) End(allocation, FreeCause::kContextEnd, record, log);
  }
  const Allocation* object = objects_.FindHandle(ObjectKind::kContext, state.handle);
  if (object != nullptr) End(*object, FreeCause::kCall, record, log);
}

void Ledger::LinkGreenContext(const Operands& operands) {
  uint64_t green = 0;
  uint64_t handle = 0;
  if (operands.In(Role::kContext, &green) && operands.Out(Role::kContext, &handle)) {
    contexts_.NameGreen(handle, green);
  }
}

// It holds the primary context of its device as long as it lives (cuda.h: cuGreenCtxCreate).
void Ledger::OpenGreenContext(const Operands& operands, const Record& record) {
  uint64_t ordinal = 0;
  uint64_t green = 0;
  if (!operands.In(Role::kDevice, &ordinal) || !operands.Out(Role::kContext, &green)) return;
  const int32_t device = DeviceOfOrdinal(ordinal);
  contexts_.CreateGreen(green, device);
  HoldPrimary(contexts_.Primary(device), record);
}

}  // namespace gputrace::ledger

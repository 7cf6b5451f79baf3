// SPDX-License-Identifier: Apache-2.0
// Things that open and close.
#include "analyzer/ledger/ledger.h"

namespace gputrace::ledger {

using trace::KindBit;
using trace::ObjectKind;
using trace::Record;
using trace::Role;

namespace {

constexpr uint64_t kHostPointers = KindBit(ObjectKind::kPinned) | KindBit(ObjectKind::kRegistered);
constexpr uint64_t kDevicePointers =
    KindBit(ObjectKind::kDevice) | KindBit(ObjectKind::kManaged) | KindBit(ObjectKind::kPoolBlock) |
    KindBit(ObjectKind::kIpcImport) | KindBit(ObjectKind::kExternalBuffer);

// Whether a call that closes `kinds` may have closed an object of `kind`. Drivers accept any
// function for device pointers that frees device pointers, so what was recorded as opened decides.
bool MayClose(uint64_t kinds, ObjectKind kind) {
  if (kinds & KindBit(kind)) return true;
  return (kinds & kDevicePointers) && (KindBit(kind) & kDevicePointers);
}

}  // namespace

Allocation Ledger::Describe(ObjectKind kind, uint64_t key, const Record& record) {
  Allocation allocation;
  allocation.address = key;
  allocation.time_ns = record.time_ns;
  allocation.process = process_.process;
  allocation.site = SiteOf(record);
  allocation.thread = record.thread;
  allocation.context = contexts_.OfDictionary(record.context);
  allocation.entry = record.entry;
  allocation.kind = kind;
  allocation.account = AccountOf(kind);
  allocation.flags = record.flags;
  return allocation;
}

int32_t Ledger::Locate(ObjectKind kind, const Operands& operands, const Record& record,
                       uint64_t* pool) {
  int32_t device = kHost;
  switch (kind) {
    case ObjectKind::kPinned:
    case ObjectKind::kRegistered:
    case ObjectKind::kReservedVa:
      return kHost;
    case ObjectKind::kVmmHandle:
      DeviceOfLocation(operands, &device);
      return device;
    case ObjectKind::kPoolBlock: {
      device = DeviceOfStream(operands, record);
      *pool = operands.InOr(Role::kPool, 0);
      if (*pool == 0) {
        const auto current = current_pools_.find(device);
        if (current != current_pools_.end()) *pool = current->second;
      }
      const auto known = pools_.find(*pool);
      return known != pools_.end() && known->second.located ? known->second.device : device;
    }
    case ObjectKind::kPool:
      if (DeviceOfLocation(operands, &device)) return device;
      return kHost;
    case ObjectKind::kGreenContext:
      return DeviceOfOrdinal(operands.InOr(Role::kDevice, ~uint64_t{0}));
    default:
      return DeviceOfRecord(record);
  }
}

// Streams may be used while another device's context is current.
int32_t Ledger::DeviceOfStream(const Operands& operands, const Record& record) {
  const Allocation* stream =
      objects_.FindHandle(ObjectKind::kStream, operands.InOr(Role::kStream, 0));
  return stream != nullptr ? stream->device : DeviceOfRecord(record);
}

bool Ledger::InCapture(const Operands& operands) const {
  return operands.InOr(Role::kCapture, 0) != 0;
}

void Ledger::Open(const Step& step, const Operands& operands, const Record& record) {
  uint64_t key = 0;
  if (!operands.Any(KeyRole(step.kind), &key)) {
    ++counters_.malformed;
    return;
  }
  if (key == 0) return;  // a call that succeeded and gave nothing
  if (InCapture(operands)) {
    graph_addresses_[key] = 0;
    return;
  }
  Allocation* existing = objects_.Find(step.kind, key);
  if (existing != nullptr) {
    if (record.flags & trace::kFlagBaseState) return;
    if (step.kind == ObjectKind::kIpcImport && existing->kind == step.kind) {
      ++existing->references;
      return;
    }
    ++counters_.unseen_frees;
    End(*existing, FreeCause::kUnseen, record, nullptr);
  }
  Allocation allocation = Describe(step.kind, key, record);
  operands.Any(Role::kSize, &allocation.bytes);
  allocation.device = Locate(step.kind, operands, record, &allocation.pool);
  // Pools' memory belongs to no context, in whatever process.
  if (step.kind == ObjectKind::kIpcImport && operands.In(Role::kPool, &allocation.pool)) {
    allocation.context = 0;
  }
  // What is made in a green context belongs to the primary context behind it, whatever is current.
  if (const uint32_t primary = contexts_.PrimaryOfGreen(operands.InOr(Role::kContext, 0));
      primary != 0) {
    allocation.context = primary;
    allocation.device = contexts_[primary].device;
  }
  if (step.kind == ObjectKind::kIpcImport) JoinShare(operands, &allocation);
  if (step.kind == ObjectKind::kPoolBlock) {
    const StreamCall call = StreamOf(operands, record);
    allocation.stream = call.stream;
    stream_order_.Allocate(call, allocation);
  }
  Allocate(allocation);
  if (step.kind == ObjectKind::kStream) CreateStream(operands, key, record);
  if (step.kind == ObjectKind::kEvent) stream_order_.ForgetEvent(key);
  if (step.kind == ObjectKind::kPool) OpenPool(operands, key);
  if (step.kind == ObjectKind::kGreenContext) OpenGreenContext(operands, record);
}

Allocation& Ledger::Allocate(const Allocation& described) {
  Allocation& allocation = objects_.Insert(described);
  allocation.id = next_id_++;
  ForObservers([&](Observer* observer) { observer->OnAllocate(allocation); });
  return allocation;
}

void Ledger::Close(const Step& step, const Operands& operands, const Record& record, Pending* log) {
  if (InCapture(operands)) return;  // becomes a node of the graph that is being captured
  uint64_t key = 0;
  if (!operands.Any(KeyRole(step.kind), &key)) {
    ++counters_.malformed;
    return;
  }
  if (key == 0) return;  // does nothing by definition
  if (step.kind == ObjectKind::kPool) ForgetPool(key, log);
  Allocation* allocation = objects_.Find(step.kind, key);
  if (allocation != nullptr && MayClose(step.kinds, allocation->kind)) {
    if (step.kind == ObjectKind::kGreenContext) {
      DropReference(contexts_.PrimaryOfGreen(key), record, log);
      allocation = objects_.Find(step.kind, key);
    }
    const Allocation ended = *allocation;
    End(ended, FreeCause::kCall, record, log);
    uint64_t stream = 0;
    if (ended.kind == ObjectKind::kPoolBlock && operands.In(Role::kStream, &stream)) {
      const StreamOrder::FreeId free = stream_order_.Free(StreamOf(operands, record), ended);
      if (log != nullptr) {
        Undo& undo = log->undo.emplace_back();
        undo.kind = Undo::Kind::kPending;
        undo.free = free;
      }
    }
    return;
  }
  if (graph_addresses_.contains(key) && (step.kinds & (kDevicePointers | kHostPointers))) return;
  if (static_cast<size_t>(AccountOf(step.kind)) < kMemoryAccounts) NoteUnknownFree(record, log);
}

void Ledger::Release(const Step& step, const Operands& operands, const Record& record,
                     Pending* log) {
  uint64_t key = 0;
  if (!operands.Any(KeyRole(step.kind), &key)) {
    ++counters_.malformed;
    return;
  }
  Allocation* allocation = objects_.Find(step.kind, key);
  if (allocation == nullptr && (step.kinds & KindBit(ObjectKind::kMulticast))) {
    allocation = objects_.Find(ObjectKind::kMulticast, key);
  }
  if (allocation == nullptr || allocation->references == 0 ||
      !MayClose(step.kinds, allocation->kind)) {
    NoteUnknownFree(record, log);
    return;
  }
  if (log != nullptr) {
    Undo& undo = log->undo.emplace_back();
    undo.kind = Undo::Kind::kReleased;
    undo.allocation = *allocation;
  }
  if (--allocation->references > 0) return;
  // The driver may hand the value out again.
  objects_.Hide(*allocation);
  EndIfUnreferenced(allocation, record, log);
}

void Ledger::End(const Allocation& ended, FreeCause cause, const Record& record, Pending* log) {
  const Allocation allocation = ended;
  objects_.Remove(ended);
  FreeEvent event;
  event.time_ns = record.time_ns;
  event.cause = cause;
  event.after_exit = (record.flags & trace::kFlagAfterExit) != 0;
  event.native_stack = record.native_stack;
  event.thread = record.thread;
  if (log != nullptr) {
    Undo& undo = log->undo.emplace_back();
    undo.kind = Undo::Kind::kFreed;
    undo.allocation = allocation;
    undo.event = event;
  }
  ForObservers([&](Observer* observer) { observer->OnFree(allocation, event); });
}

void Ledger::NoteUnknownFree(const Record& record, Pending* log) {
  const UnknownFrees::key_type key = {record.entry, SiteOf(record)};
  ++counters_.unknown_frees;
  ++unknown_frees_[key];
  if (log == nullptr) return;
  Undo& undo = log->undo.emplace_back();
  undo.kind = Undo::Kind::kUnknownFree;
  undo.unknown = key;
}

}  // namespace gputrace::ledger

// SPDX-License-Identifier: Apache-2.0
// Reference-counted memory: it ends when no handle and no mapping holds it.
#include <algorithm>

#include "analyzer/ledger/ledger.h"

namespace gputrace::ledger {

using trace::ObjectKind;
using trace::Record;
using trace::Role;

void Ledger::Import(const Operands& operands, const Record& record) {
  uint64_t handle = 0;
  if (!operands.Any(Role::kHandle, &handle)) {
    ++counters_.malformed;
    return;
  }
  Allocation* existing = objects_.FindHandle(ObjectKind::kVmmHandle, handle);
  if (existing == nullptr) existing = Exported(operands, handle);
  if (existing != nullptr) {
    // This process has it already: one more reference.
    ++existing->references;
    objects_.Show(*existing);
    return;
  }
  Allocation allocation = Describe(ObjectKind::kVmmHandle, handle, record);
  allocation.account = Account::kAlias;
  allocation.device = DeviceOfRecord(record);
  Allocate(allocation);
}

void Ledger::Export(const Operands& operands) {
  uint64_t handle = 0;
  uint64_t descriptor = 0;
  if (!operands.In(Role::kHandle, &handle) || !operands.Out(Role::kFd, &descriptor)) return;
  const Allocation* memory = objects_.FindHandle(ObjectKind::kVmmHandle, handle);
  if (memory != nullptr) exports_[descriptor] = {memory->slot, memory->id};
}

// This process's own memory, if that is what the descriptor stands for. There may be no handle to
// it any more, only mappings. Descriptors are used again: the handle must be the same, too.
Allocation* Ledger::Exported(const Operands& operands, uint64_t handle) {
  const auto found = exports_.find(operands.InOr(Role::kFd, ~uint64_t{0}));
  if (found == exports_.end()) return nullptr;
  Allocation* memory = objects_.At(found->second.slot);
  const bool same = memory->live && memory->id == found->second.id && memory->address == handle;
  return same ? memory : nullptr;
}

Allocation* Ledger::BehindMapping(const Mapping& mapping) {
  if (mapping.slot == ObjectTable::kNone) return nullptr;
  Allocation* memory = objects_.At(mapping.slot);
  return memory->live && memory->id == mapping.id ? memory : nullptr;
}

// Null: nothing, or it is not known what.
Allocation* Ledger::MappedAt(uint64_t address) {
  auto mapping = mappings_.upper_bound(address);
  if (mapping == mappings_.begin()) return nullptr;
  --mapping;
  return address - mapping->first < mapping->second.size ? BehindMapping(mapping->second) : nullptr;
}

void Ledger::RetainHandle(const Operands& operands) {
  uint64_t address = 0;
  uint64_t handle = 0;
  if (!operands.In(Role::kAddress, &address) || !operands.Out(Role::kHandle, &handle)) {
    ++counters_.malformed;
    return;
  }
  Allocation* memory = MappedAt(address);
  if (memory == nullptr) memory = objects_.FindHandle(ObjectKind::kVmmHandle, handle);
  if (memory == nullptr) return;
  ++memory->references;
  objects_.Hide(*memory);
  memory->address = handle;
  objects_.Show(*memory);
}

void Ledger::Map(const Operands& operands, const Record& record) {
  uint64_t address = 0;
  uint64_t size = 0;
  uint64_t handle = 0;
  if (!operands.In(Role::kAddress, &address) || !operands.In(Role::kSize, &size) ||
      !operands.In(Role::kHandle, &handle)) {
    ++counters_.malformed;
    return;
  }
  if (mappings_.contains(address)) {
    if (record.flags & trace::kFlagBaseState) return;
    ++counters_.unseen_frees;
    const Mapping old = mappings_[address];
    mappings_.erase(address);
    UnmapOne(address, old, record, nullptr);
  }
  Allocation* memory = objects_.FindHandle(ObjectKind::kVmmHandle, handle);
  if (memory == nullptr) memory = objects_.FindHandle(ObjectKind::kMulticast, handle);
  AddMapping(address, size, memory, record);
}

void Ledger::AddMapping(uint64_t address, uint64_t size, Allocation* memory, const Record& record) {
  Mapping mapping;
  mapping.size = size;
  mapping.slot = ObjectTable::kNone;
  if (memory != nullptr) {
    mapping.slot = memory->slot;
    mapping.id = memory->id;
    if (memory->account == Account::kAlias && memory->bytes < size) {
      const uint64_t old_bytes = memory->bytes;
      memory->bytes = size;
      ForObservers(
          [&](Observer* observer) { observer->OnResize(*memory, old_bytes, record.time_ns); });
    }
    if (memory->mappings++ > 0) {
      Allocation alias = Describe(ObjectKind::kMapping, address, record);
      alias.bytes = size;
      alias.device = memory->device;
      mapping.alias_slot = Allocate(alias).slot;
    }
  }
  mappings_[address] = mapping;
}

// Whole mappings only: the driver refuses parts.
void Ledger::Unmap(const Operands& operands, const Record& record, Pending* log) {
  uint64_t address = 0;
  uint64_t size = 0;
  if (!operands.In(Role::kAddress, &address) || !operands.In(Role::kSize, &size)) {
    ++counters_.malformed;
    return;
  }
  bool found = false;
  auto at = mappings_.lower_bound(address);
  while (at != mappings_.end() && at->first - address < size) {
    found = true;
    const uint64_t start = at->first;
    const Mapping mapping = at->second;
    at = mappings_.erase(at);
    UnmapOne(start, mapping, record, log);
  }
  if (!found) NoteUnknownFree(record, log);
}

void Ledger::UnmapOne(uint64_t address, const Mapping& mapping, const Record& record,
                      Pending* log) {
  const bool is_alias = mapping.alias_slot != ObjectTable::kNone;
  if (log != nullptr) {
    Undo& undo = log->undo.emplace_back();
    undo.kind = Undo::Kind::kUnmapped;
    undo.address = address;
    undo.mapping = mapping;
    if (is_alias) undo.allocation.id = objects_.At(mapping.alias_slot)->id;
  }
  if (is_alias) End(*objects_.At(mapping.alias_slot), FreeCause::kCall, record, log);
  Allocation* memory = BehindMapping(mapping);
  if (memory == nullptr) return;
  if (memory->mappings > 0) --memory->mappings;
  if (!is_alias && memory->mappings > 0) PromoteMapping(*memory, record, log);
  EndIfUnreferenced(memory, record, log);
}

// Of n mappings of one memory n - 1 count as aliases. The one that did not is gone.
void Ledger::PromoteMapping(const Allocation& memory, const Record& record, Pending* log) {
  for (auto& [address, mapping] : mappings_) {
    if (mapping.slot != memory.slot || mapping.id != memory.id) continue;
    if (mapping.alias_slot == ObjectTable::kNone) continue;
    const Allocation& alias = *objects_.At(mapping.alias_slot);
    if (log != nullptr) {
      Undo& undo = log->undo.emplace_back();
      undo.kind = Undo::Kind::kPromoted;
      undo.address = address;
      undo.allocation.id = alias.id;
    }
    mapping.alias_slot = ObjectTable::kNone;
    End(alias, FreeCause::kCall, record, log);
    return;
  }
}

void Ledger::EndIfUnreferenced(Allocation* memory, const Record& record, Pending* log) {
  if (memory->references > 0 || memory->mappings > 0 || memory->bindings > 0) return;
  if (memory->kind == ObjectKind::kMulticast) {
    const uint32_t slot = memory->slot;
    UnbindAll(memory->id, record, log);
    memory = objects_.At(slot);
  }
  End(*memory, FreeCause::kCall, record, log);
}

}  // namespace gputrace::ledger

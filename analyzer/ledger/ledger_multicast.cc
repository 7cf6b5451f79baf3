// SPDX-License-Identifier: Apache-2.0
// Multicast objects: memory that is bound to one lives until it is unbound, or the object ends.
#include "analyzer/ledger/ledger.h"

namespace gputrace::ledger {

using trace::ObjectKind;
using trace::Record;
using trace::Role;

void Ledger::Bind(const Operands& operands) {
  uint64_t object = 0;
  uint64_t bound = 0;
  uint64_t ordinal = 0;
  if (!operands.In(Role::kHandle, &object)) {
    ++counters_.malformed;
    return;
  }
  Allocation* memory = nullptr;
  if (operands.SecondHandle(&bound)) {
    memory = objects_.FindHandle(ObjectKind::kVmmHandle, bound);
  } else if (operands.In(Role::kAddress, &bound)) {
    memory = MappedAt(bound);
  }
  const Allocation* multicast = objects_.FindHandle(ObjectKind::kMulticast, object);
  if (memory == nullptr || multicast == nullptr) return;
  const int32_t device =
      operands.In(Role::kDevice, &ordinal) ? DeviceOfOrdinal(ordinal) : memory->device;
  const BindingKey key(multicast->id, operands.InOr(Role::kOffset, 0), device);
  if (bindings_.try_emplace(key, Binding{memory->slot, memory->id}).second) ++memory->bindings;
}

void Ledger::Unbind(const Operands& operands, const Record& record, Pending* log) {
  uint64_t object = 0;
  if (!operands.In(Role::kHandle, &object)) {
    ++counters_.malformed;
    return;
  }
  const Allocation* multicast = objects_.FindHandle(ObjectKind::kMulticast, object);
  if (multicast == nullptr) return;
  UnbindOne({multicast->id, operands.InOr(Role::kOffset, 0),
             DeviceOfOrdinal(operands.InOr(Role::kDevice, 0))},
            record, log);
}

void Ledger::UnbindAll(uint64_t multicast, const Record& record, Pending* log) {
  for (;;) {
    const auto next = bindings_.lower_bound(BindingKey(multicast, 0, kHost));
    if (next == bindings_.end() || std::get<0>(next->first) != multicast) return;
    UnbindOne(BindingKey(next->first), record, log);
  }
}

void Ledger::UnbindOne(const BindingKey& key, const Record& record, Pending* log) {
  const auto found = bindings_.find(key);
  if (found == bindings_.end()) return;
  const Binding binding = found->second;
  bindings_.erase(found);
  if (log != nullptr) {
    Undo& undo = log->undo.emplace_back();
    undo.kind = Undo::Kind::kUnbound;
    undo.binding_key = key;
    undo.binding = binding;
  }
  Allocation* memory = objects_.At(binding.slot);
  if (!memory->live || memory->id != binding.id || memory->bindings == 0) return;
  --memory->bindings;
  EndIfUnreferenced(memory, record, log);
}

}  // namespace gputrace::ledger

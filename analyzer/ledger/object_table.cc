// SPDX-License-Identifier: Apache-2.0
#include "analyzer/ledger/object_table.h"

namespace gputrace::ledger {

using trace::ObjectKind;

bool ObjectTable::IsPointer(ObjectKind kind) {
  switch (kind) {
    case ObjectKind::kDevice:
    case ObjectKind::kManaged:
    case ObjectKind::kPinned:
    case ObjectKind::kRegistered:
    case ObjectKind::kPoolBlock:
    case ObjectKind::kIpcImport:
    case ObjectKind::kExternalBuffer:
      return true;
    default:
      return false;
  }
}

Allocation& ObjectTable::Insert(const Allocation& allocation) {
  uint32_t slot;
  if (free_slots_.empty()) {
    slot = static_cast<uint32_t>(slots_.size());
    slots_.push_back(allocation);
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
    slots_[slot] = allocation;
  }
  Allocation& inserted = slots_[slot];
  inserted.slot = slot;
  inserted.live = true;
  Show(inserted);
  return inserted;
}

void ObjectTable::Show(const Allocation& allocation) {
  if (IsPointer(allocation.kind)) {
    pointers_.insert_or_assign(allocation.address, allocation.slot);
  } else {
    handles_.insert_or_assign(HandleKey(static_cast<uint8_t>(allocation.kind), allocation.address),
                              allocation.slot);
  }
}

void ObjectTable::Hide(const Allocation& allocation) {
  if (IsPointer(allocation.kind)) {
    const auto found = pointers_.find(allocation.address);
    if (found != pointers_.end() && found->second == allocation.slot) pointers_.erase(found);
  } else {
    const auto found =
        handles_.find(HandleKey(static_cast<uint8_t>(allocation.kind), allocation.address));
    if (found != handles_.end() && found->second == allocation.slot) handles_.erase(found);
  }
}

void ObjectTable::Remove(const Allocation& allocation) {
  Hide(allocation);
  slots_[allocation.slot].live = false;
  free_slots_.push_back(allocation.slot);
}

Allocation* ObjectTable::FindPointer(uint64_t address) {
  const auto found = pointers_.find(address);
  return found == pointers_.end() ? nullptr : &slots_[found->second];
}

Allocation* ObjectTable::FindHandle(ObjectKind kind, uint64_t handle) {
  const auto found = handles_.find(HandleKey(static_cast<uint8_t>(kind), handle));
  return found == handles_.end() ? nullptr : &slots_[found->second];
}

}  // namespace gputrace::ledger

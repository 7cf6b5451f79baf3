// SPDX-License-Identifier: Apache-2.0
#include "simulator/driver/allocation.h"

#include <iterator>

#include "simulator/driver/driver.h"
#include "simulator/driver/graph_memory.h"
#include "simulator/driver/physical_memory.h"
#include "simulator/driver/pool.h"

namespace gputrace::sim {

const char* KindName(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::kDevice:
      return "device";
    case MemoryKind::kManaged:
      return "managed";
    case MemoryKind::kPinned:
      return "pinned";
    case MemoryKind::kRegistered:
      return "registered";
    case MemoryKind::kPool:
      return "pool";
    case MemoryKind::kGraph:
      return "graph";
    case MemoryKind::kMapping:
      return "mapping";
    case MemoryKind::kIpc:
    case MemoryKind::kImported:
      return "alias";
    case MemoryKind::kGlobal:
      break;
  }
  return "global";
}

Allocation* AllocationTable::Add(Allocation allocation) {
  allocation.id = TheDriver().next_id++;
  const uint64_t address = allocation.address;
  const auto [where, inserted] = by_address_.insert_or_assign(address, std::move(allocation));
  Allocation* added = &where->second;
  if (added->kind != MemoryKind::kGlobal) {
    TheDriver().ledger.Add({.kind = KindName(added->kind),
                            .address = added->address,
                            .size = added->size,
                            .device = added->device,
                            .context = reinterpret_cast<uint64_t>(added->context),
                            .pool = reinterpret_cast<uint64_t>(added->pool.get()),
                            .handle = reinterpret_cast<uint64_t>(added->physical.get())});
  }
  return added;
}

Allocation* AllocationTable::At(uint64_t address) {
  const auto found = by_address_.find(address);
  return found == by_address_.end() ? nullptr : &found->second;
}

Allocation* AllocationTable::Containing(uint64_t address) {
  const auto after = by_address_.upper_bound(address);
  if (after == by_address_.begin()) return nullptr;
  Allocation* before = &std::prev(after)->second;
  return address < before->address + before->size ? before : nullptr;
}

std::vector<Allocation*> AllocationTable::Overlapping(uint64_t address, uint64_t size) {
  std::vector<Allocation*> found;
  if (Allocation* first = Containing(address)) found.push_back(first);
  for (auto next = by_address_.upper_bound(address);
       next != by_address_.end() && next->first < address + size; ++next) {
    found.push_back(&next->second);
  }
  return found;
}

std::vector<Allocation*> AllocationTable::OfContext(const Context* context) {
  std::vector<Allocation*> found;
  for (auto& [address, allocation] : by_address_) {
    if (allocation.context == context) found.push_back(&allocation);
  }
  return found;
}

void AllocationTable::Remove(const Allocation& allocation) {
  const uint64_t address = allocation.address;
  TheDriver().ledger.Remove(KindName(allocation.kind), address);
  by_address_.erase(address);
}

void Release(Allocation* allocation) {
  switch (allocation->kind) {
    case MemoryKind::kDevice:
      allocation->context->device_heap->FreeAndRelease(allocation->address, allocation->size);
      break;
    case MemoryKind::kPinned:
      allocation->context->host_heap->FreeAndRelease(allocation->address, allocation->size);
      break;
    case MemoryKind::kPool:
      allocation->pool->Free(allocation->address, allocation->size);
      break;
    case MemoryKind::kGraph:
      FreeGraphMemory(*allocation);
      break;
    case MemoryKind::kManaged:
    case MemoryKind::kIpc:
    case MemoryKind::kImported:
      ReleaseAddresses(allocation->mapped_at, allocation->mapped_size);
      break;
    case MemoryKind::kRegistered:
    case MemoryKind::kMapping:
    case MemoryKind::kGlobal:
      break;
  }
  TheDriver().allocations.Remove(*allocation);
}

}  // namespace gputrace::sim

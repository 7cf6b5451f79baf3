// SPDX-License-Identifier: Apache-2.0
#include "simulator/driver/state.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

#include "simulator/driver/journal.h"

namespace gputrace::sim {
namespace {

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
    case MemoryKind::kReservedVa:
      return "reserved_va";
    case MemoryKind::kGraph:
      return "graph";
  }
  return "";
}

void ReturnDeviceMemory(const Allocation& allocation) {
  Device& device = state().devices[static_cast<size_t>(allocation.device)];
  if (allocation.reserved >= kGranularity) {
    UnmapMemory(allocation.address, allocation.reserved);
    ReturnPhysical(allocation.device, allocation.reserved);
    return;
  }
  ReturnRange(&device.slab_free, allocation.address, allocation.reserved);
  // A slab that is all free goes back.
  for (auto slab = device.slabs.begin(); slab != device.slabs.end(); ++slab) {
    const auto free = device.slab_free.find(slab->first);
    if (free != device.slab_free.end() && free->second == slab->second) {
      device.slab_free.erase(free);
      UnmapMemory(slab->first, slab->second);
      ReturnPhysical(allocation.device, slab->second);
      device.slabs.erase(slab);
      return;
    }
  }
}

}  // namespace

State& state() {
  // In storage of its own, so that no destructor runs.
  alignas(State) static unsigned char storage[sizeof(State)];
  static State* instance = new (storage) State;
  return *instance;
}

bool IsDevice(int ordinal) {
  return ordinal >= 0 && static_cast<size_t>(ordinal) < state().devices.size();
}

CUresult TakePhysical(int device, size_t bytes) {
  Device& d = state().devices[static_cast<size_t>(device)];
  const size_t other = std::min(state().config.other_use, d.total);
  if (bytes > d.total - other || d.used > d.total - other - bytes) return CUDA_ERROR_OUT_OF_MEMORY;
  d.used += bytes;
  return CUDA_SUCCESS;
}

void ReturnPhysical(int device, size_t bytes) {
  state().devices[static_cast<size_t>(device)].used -= bytes;
}

uint64_t MapMemory(size_t bytes) {
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return at == MAP_FAILED ? 0 : reinterpret_cast<uint64_t>(at);
}

void UnmapMemory(uint64_t address, size_t bytes) { munmap(reinterpret_cast<void*>(address), bytes); }

Allocation* FindAllocation(uint64_t address) {
  auto& allocations = state().allocations;
  auto found = allocations.upper_bound(address);
  if (found == allocations.begin()) return nullptr;
  --found;
  Allocation& allocation = found->second;
  return address < allocation.address + std::max<size_t>(allocation.size, 1) ? &allocation : nullptr;
}

uint64_t TakeRange(FreeRanges* free, size_t bytes) {
  for (auto range = free->begin(); range != free->end(); ++range) {
    if (range->second < bytes) continue;
    const uint64_t address = range->first;
    const size_t rest = range->second - bytes;
    free->erase(range);
    if (rest > 0) (*free)[address + bytes] = rest;
    return address;
  }
  return 0;
}

void ReturnRange(FreeRanges* free, uint64_t address, size_t bytes) {
  auto after = free->lower_bound(address);
  if (after != free->end() && after->first == address + bytes) {
    bytes += after->second;
    after = free->erase(after);
  }
  if (after != free->begin()) {
    auto before = std::prev(after);
    if (before->first + before->second == address) {
      before->second += bytes;
      return;
    }
  }
  (*free)[address] = bytes;
}

void FreeAllocation(Allocation* allocation, const char* call) {
  const Allocation gone = *allocation;
  state().allocations.erase(gone.address);
  NoteChange({call, '-', KindName(gone.kind), gone.address, gone.size, gone.device,
              reinterpret_cast<uint64_t>(gone.context), reinterpret_cast<uint64_t>(gone.pool), 0});
  switch (gone.kind) {
    case MemoryKind::kDevice:
      ReturnDeviceMemory(gone);
      break;
    case MemoryKind::kManaged:
    case MemoryKind::kPinned:
    case MemoryKind::kReservedVa:
      UnmapMemory(gone.address, gone.reserved);
      break;
    case MemoryKind::kPool:
      gone.pool->used -= gone.reserved;
      ReturnRange(&gone.pool->free, gone.address, gone.reserved);
      break;
    case MemoryKind::kGraph:
      state().devices[static_cast<size_t>(gone.device)].graph_used -= gone.reserved;
      ReturnPhysical(gone.device, gone.reserved);
      break;
    case MemoryKind::kRegistered:
      break;
  }
}

void FreeContextMemory(Context* context, const char* call) {
  std::vector<Allocation*> owned;
  for (auto& [address, allocation] : state().allocations) {
    if (allocation.context == context && allocation.kind != MemoryKind::kPool &&
        allocation.kind != MemoryKind::kReservedVa) {
      owned.push_back(&allocation);
    }
  }
  for (Allocation* allocation : owned) FreeAllocation(allocation, call);
  for (Array* array : state().arrays) {
    if (array->context != context || !array->alive) continue;
    array->alive = false;
    ReturnPhysical(context->device, RoundUp(array->size, kGranularity));
    NoteChange({call, '-', "array", 0, array->size, context->device,
                reinterpret_cast<uint64_t>(context), 0, reinterpret_cast<uint64_t>(array)});
  }
  for (Module* module : state().modules) {
    if (module->context == context) module->alive = false;
  }
}

void SynchronizePools(Stream* stream) {
  for (Pool* pool : state().pools) {
    auto keep = pool->pending.begin();
    for (const Pool::Pending& pending : pool->pending) {
      if (stream == nullptr || pending.stream == stream) {
        ReturnRange(&pool->free, pending.address, pending.size);
      } else {
        *keep++ = pending;
      }
    }
    pool->pending.erase(keep, pool->pending.end());
    // Whole free segments are given back down to the threshold.
    for (auto segment = pool->segments.begin(); segment != pool->segments.end();) {
      const auto free = pool->free.find(segment->first);
      const bool unused = free != pool->free.end() && free->second >= segment->second;
      if (!unused || pool->reserved <= pool->release_threshold) {
        ++segment;
        continue;
      }
      const size_t rest = free->second - segment->second;
      pool->free.erase(free);
      if (rest > 0) pool->free[segment->first + segment->second] = rest;
      UnmapMemory(segment->first, segment->second);
      pool->reserved -= segment->second;
      if (pool->location == CU_MEM_LOCATION_TYPE_DEVICE) ReturnPhysical(pool->device, segment->second);
      segment = pool->segments.erase(segment);
    }
  }
}

}  // namespace gputrace::sim

// SPDX-License-Identifier: Apache-2.0
// Stream-ordered memory and the pools it comes from.
#include <algorithm>
#include <cstring>

#include "simulator/driver/graphs.h"
#include "simulator/driver/journal.h"
#include "simulator/driver/state.h"

namespace gputrace::sim {
namespace {

constexpr size_t kSegmentBytes = 32 * kMiB;

Pool* ToPool(CUmemoryPool handle) {
  auto* pool = reinterpret_cast<Pool*>(handle);
  const auto& pools = state().pools;
  const bool known = std::find(pools.begin(), pools.end(), pool) != pools.end();
  return known && pool->alive ? pool : nullptr;
}
CUmemoryPool ToHandle(Pool* pool) { return reinterpret_cast<CUmemoryPool>(pool); }

CUresult GrowPool(Pool* pool, size_t bytes) {
  const size_t segment = RoundUp(std::max(bytes, kSegmentBytes), kGranularity);
  // A card that is nearly full gives what is asked for, if not the usual segment.
  size_t taken = segment;
  const bool on_device = pool->location == CU_MEM_LOCATION_TYPE_DEVICE;
  if (on_device && TakePhysical(pool->device, taken) != CUDA_SUCCESS) {
    taken = RoundUp(bytes, kGranularity);
    if (TakePhysical(pool->device, taken) != CUDA_SUCCESS) return CUDA_ERROR_OUT_OF_MEMORY;
  }
  const uint64_t address = MapMemory(taken);
  if (address == 0) {
    if (on_device) ReturnPhysical(pool->device, taken);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  pool->segments[address] = taken;
  pool->reserved += taken;
  pool->reserved_high = std::max(pool->reserved_high, pool->reserved);
  ReturnRange(&pool->free, address, taken);
  return CUDA_SUCCESS;
}

// What the same stream freed may be used again in it at once.
void ReuseInStream(Pool* pool, const Stream* stream) {
  auto keep = pool->pending.begin();
  for (const Pool::Pending& pending : pool->pending) {
    if (pending.stream == stream) {
      ReturnRange(&pool->free, pending.address, pending.size);
    } else {
      *keep++ = pending;
    }
  }
  pool->pending.erase(keep, pool->pending.end());
}

CUresult Allocate(CUdeviceptr* out, size_t size, Pool* pool, CUstream stream_handle, const char* call) {
  Context* context = nullptr;
  if (const CUresult result = NeedContext(&context); result != CUDA_SUCCESS) return result;
  bool valid = false;
  Stream* stream = ToStream(stream_handle, &valid);
  if (!valid) return CUDA_ERROR_INVALID_HANDLE;
  if (out == nullptr || size == 0) return CUDA_ERROR_INVALID_VALUE;
  if (pool == nullptr) {
    const int device = stream == nullptr ? context->device : stream->context->device;
    pool = state().devices[static_cast<size_t>(device)].current_pool;
  }
  if (stream != nullptr && stream->capture_id != 0) return CaptureAllocation(stream, size, out);
  const size_t reserved = RoundUp(size, kAlignment);
  ReuseInStream(pool, stream);
  uint64_t address = TakeRange(&pool->free, reserved);
  if (address == 0) {
    if (const CUresult result = GrowPool(pool, reserved); result != CUDA_SUCCESS) return result;
    address = TakeRange(&pool->free, reserved);
  }
  pool->used += reserved;
  pool->used_high = std::max(pool->used_high, pool->used);
  Allocation allocation;
  allocation.kind = MemoryKind::kPool;
  allocation.address = address;
  allocation.size = size;
  allocation.reserved = reserved;
  allocation.device = pool->device;
  allocation.context = context;
  allocation.pool = pool;
  state().allocations[address] = allocation;
  NoteChange({call, '+', "pool", address, size, pool->device, reinterpret_cast<uint64_t>(context),
              reinterpret_cast<uint64_t>(pool), 0});
  *out = address;
  return CUDA_SUCCESS;
}

bool IsDeviceLocation(const CUmemLocation& location) {
  return location.type == CU_MEM_LOCATION_TYPE_DEVICE;
}

}  // namespace

CUresult Sim_cuMemAllocAsync(CUdeviceptr* address, size_t size, CUstream stream) {
  const Locked locked;
  return Allocate(address, size, nullptr, stream, "cuMemAllocAsync");
}

CUresult Sim_cuMemAllocFromPoolAsync(CUdeviceptr* address, size_t size, CUmemoryPool handle,
                                     CUstream stream) {
  const Locked locked;
  if (!state().initialised) return CUDA_ERROR_NOT_INITIALIZED;
  Pool* pool = ToPool(handle);
  if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Allocate(address, size, pool, stream, "cuMemAllocFromPoolAsync");
}

CUresult Sim_cuMemFreeAsync(CUdeviceptr address, CUstream stream_handle) {
  const Locked locked;
  Context* context = nullptr;
  if (const CUresult result = NeedContext(&context); result != CUDA_SUCCESS) return result;
  bool valid = false;
  Stream* stream = ToStream(stream_handle, &valid);
  if (!valid) return CUDA_ERROR_INVALID_HANDLE;
  if (stream != nullptr && stream->capture_id != 0) return CaptureFree(stream, address);
  Allocation* allocation = FindAllocation(address);
  if (allocation == nullptr || allocation->address != address) return CUDA_ERROR_INVALID_VALUE;
  if (allocation->kind != MemoryKind::kPool) {
    if (allocation->kind == MemoryKind::kPinned || allocation->kind == MemoryKind::kRegistered ||
        allocation->kind == MemoryKind::kReservedVa) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    FreeAllocation(allocation, "cuMemFreeAsync");
    return CUDA_SUCCESS;
  }
  Pool* pool = allocation->pool;
  pool->pending.push_back({stream, address, allocation->reserved});
  pool->used -= allocation->reserved;
  NoteChange({"cuMemFreeAsync", '-', "pool", address, allocation->size, pool->device,
              reinterpret_cast<uint64_t>(allocation->context), reinterpret_cast<uint64_t>(pool), 0});
  state().allocations.erase(address);
  return CUDA_SUCCESS;
}

CUresult Sim_cuMemPoolCreate(CUmemoryPool* out, const CUmemPoolProps* properties) {
  const Locked locked;
  if (!state().initialised) return CUDA_ERROR_NOT_INITIALIZED;
  if (out == nullptr || properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (IsDeviceLocation(properties->location) && !IsDevice(properties->location.id)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  auto* pool = new Pool;
  pool->device = IsDeviceLocation(properties->location) ? properties->location.id : 0;
  pool->type = properties->allocType;
  pool->location = properties->location.type;
  state().pools.push_back(pool);
  *out = ToHandle(pool);
  return CUDA_SUCCESS;
}

CUresult Sim_cuMemPoolDestroy(CUmemoryPool handle) {
  const Locked locked;
  Pool* pool = ToPool(handle);
  if (pool == nullptr || pool->is_default) return CUDA_ERROR_INVALID_VALUE;
  Device& device = state().devices[static_cast<size_t>(pool->device)];
  if (device.current_pool == pool) device.current_pool = &device.default_pool;
  // Its memory goes as its last allocations are freed.
  pool->alive = false;
  pool->release_threshold = 0;
  return CUDA_SUCCESS;
}

CUresult Sim_cuMemPoolTrimTo(CUmemoryPool handle, size_t keep) {
  const Locked locked;
  Pool* pool = ToPool(handle);
  if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const uint64_t threshold = pool->release_threshold;
  pool->release_threshold = keep;
  SynchronizePools(nullptr);
  pool->release_threshold = threshold;
  return CUDA_SUCCESS;
}

CUresult Sim_cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  const Locked locked;
  Pool* pool = ToPool(handle);
  if (pool == nullptr || value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  uint64_t number = 0;
  switch (attribute) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      memcpy(&pool->release_threshold, value, sizeof(pool->release_threshold));
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      memcpy(&number, value, sizeof(number));
      if (number != 0) return CUDA_ERROR_INVALID_VALUE;  // it can only be reset (header)
      if (attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) pool->reserved_high = pool->reserved;
      if (attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH) pool->used_high = pool->used;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      memcpy(&pool->reuse_flags[attribute], value, sizeof(int));
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult Sim_cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  const Locked locked;
  const Pool* pool = ToPool(handle);
  if (pool == nullptr || value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const uint64_t* number = nullptr;
  switch (attribute) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      number = &pool->release_threshold;
      break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
      number = &pool->reserved;
      break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      number = &pool->reserved_high;
      break;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
      number = &pool->used;
      break;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      number = &pool->used_high;
      break;
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      memcpy(value, &pool->reuse_flags[attribute], sizeof(int));
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  memcpy(value, number, sizeof(*number));
  return CUDA_SUCCESS;
}

CUresult Sim_cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc*, size_t) {
  const Locked locked;
  return ToPool(handle) == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult Sim_cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool handle, CUmemLocation*) {
  const Locked locked;
  if (ToPool(handle) == nullptr || flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return CUDA_SUCCESS;
}

CUresult Sim_cuDeviceGetDefaultMemPool(CUmemoryPool* out, CUdevice device) {
  const Locked locked;
  if (!IsDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = ToHandle(&state().devices[static_cast<size_t>(device)].default_pool);
  return CUDA_SUCCESS;
}

CUresult Sim_cuDeviceGetMemPool(CUmemoryPool* out, CUdevice device) {
  const Locked locked;
  if (!IsDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = ToHandle(state().devices[static_cast<size_t>(device)].current_pool);
  return CUDA_SUCCESS;
}

CUresult Sim_cuDeviceSetMemPool(CUdevice device, CUmemoryPool handle) {
  const Locked locked;
  if (!IsDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  Pool* pool = ToPool(handle);
  if (pool == nullptr || pool->device != device) return CUDA_ERROR_INVALID_VALUE;
  state().devices[static_cast<size_t>(device)].current_pool = pool;
  return CUDA_SUCCESS;
}

CUresult Sim_cuMemGetDefaultMemPool(CUmemoryPool* out, CUmemLocation* location, CUmemAllocationType) {
  if (location == nullptr || !IsDeviceLocation(*location)) return CUDA_ERROR_NOT_SUPPORTED;
  return Sim_cuDeviceGetDefaultMemPool(out, location->id);
}
CUresult Sim_cuMemGetMemPool(CUmemoryPool* out, CUmemLocation* location, CUmemAllocationType) {
  if (location == nullptr || !IsDeviceLocation(*location)) return CUDA_ERROR_NOT_SUPPORTED;
  return Sim_cuDeviceGetMemPool(out, location->id);
}
CUresult Sim_cuMemSetMemPool(CUmemLocation* location, CUmemAllocationType, CUmemoryPool pool) {
  if (location == nullptr || !IsDeviceLocation(*location)) return CUDA_ERROR_NOT_SUPPORTED;
  return Sim_cuDeviceSetMemPool(location->id, pool);
}

}  // namespace gputrace::sim

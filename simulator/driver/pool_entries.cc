// SPDX-License-Identifier: Apache-2.0
// Memory pools: life, attributes, which one is current.
#include <cstring>

#include "bodies.h"
#include "simulator/driver/context.h"
#include "simulator/driver/pool.h"

namespace gputrace::sim {
namespace {

CUresult FindPool(CUmemoryPool handle, std::shared_ptr<Pool>* pool) {
  *pool = TheDriver().pools.Find(handle);
  return *pool == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUmemoryPool HandleOf(const std::shared_ptr<Pool>& pool) {
  return HandleTable<Pool, CUmemoryPool>::HandleOf(pool.get());
}

// The default pool of a location on the host, made when it is first asked for.
std::shared_ptr<Pool> HostPool() {
  Driver& driver = TheDriver();
  if (driver.host_pool == nullptr) {
    CUmemPoolProps props = {};
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.location = {CU_MEM_LOCATION_TYPE_HOST, {0}};
    driver.host_pool = std::make_shared<Pool>(props, -1);
    driver.host_pool->is_default = true;
    driver.pools.Add(driver.host_pool);
  }
  return driver.host_pool;
}

// The pool of a location: of a device the current or the default one.
CUresult PoolOfLocation(CUmemoryPool* pool, const CUmemLocation* location,
                        std::shared_ptr<Pool> Device::*which) {
  const Guard guard;
  if (pool == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  int device = -1;
  GPUSIM_TRY(PoolDevice(*location, &device));
  *pool = HandleOf(device < 0 ? HostPool()
                              : TheDriver().devices[static_cast<size_t>(device)].get()->*which);
  return CUDA_SUCCESS;
}

CUresult PoolOfDevice(CUmemoryPool* pool, CUdevice ordinal, std::shared_ptr<Pool> Device::*which) {
  const Guard guard;
  Device* device = nullptr;
  GPUSIM_TRY(FindDevice(ordinal, &device));
  if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pool = HandleOf(device->*which);
  return CUDA_SUCCESS;
}

template <typename Value>
CUresult Write(void* out, Value value) {
  memcpy(out, &value, sizeof(value));
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult gpusim_cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* poolProps) {
  const Guard guard;
  if (pool == nullptr || poolProps == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (poolProps->allocType != CU_MEM_ALLOCATION_TYPE_PINNED &&
      poolProps->allocType != CU_MEM_ALLOCATION_TYPE_MANAGED) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if ((poolProps->handleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != 0) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  int device = -1;
  GPUSIM_TRY(PoolDevice(poolProps->location, &device));
  const bool managed = poolProps->allocType == CU_MEM_ALLOCATION_TYPE_MANAGED;
  const auto made = std::make_shared<Pool>(*poolProps, managed ? -1 : device);
  *pool = TheDriver().pools.Add(made);
  TheDriver().ledger.Add(
      {.kind = "mempool", .device = made->device, .handle = HandleNumber(*pool)});
  return CUDA_SUCCESS;
}

// Returns at once; memory of the pool lives until it is freed (header).
CUresult gpusim_cuMemPoolDestroy(CUmemoryPool handle) {
  const Guard guard;
  std::shared_ptr<Pool> pool;
  GPUSIM_TRY(FindPool(handle, &pool));
  if (pool->is_default) return CUDA_ERROR_INVALID_VALUE;
  for (const auto& device : TheDriver().devices) {
    if (device->current_pool == pool) device->current_pool = device->default_pool;
  }
  pool->TrimTo(0);
  TheDriver().ledger.Remove("mempool", HandleNumber(handle));
  TheDriver().pools.Remove(handle);
  return CUDA_SUCCESS;
}

CUresult gpusim_cuMemPoolTrimTo(CUmemoryPool handle, size_t minBytesToKeep) {
  const Guard guard;
  std::shared_ptr<Pool> pool;
  GPUSIM_TRY(FindPool(handle, &pool));
  pool->TrimTo(minBytesToKeep);
  return CUDA_SUCCESS;
}

CUresult gpusim_cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attr, void* value) {
  const Guard guard;
  std::shared_ptr<Pool> pool;
  GPUSIM_TRY(FindPool(handle, &pool));
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  cuuint64_t number = 0;
  switch (attr) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      memcpy(&pool->reuse[attr - 1], value, sizeof(int));
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      memcpy(&pool->release_threshold, value, sizeof(cuuint64_t));
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      memcpy(&number, value, sizeof(number));
      if (number != 0) return CUDA_ERROR_INVALID_VALUE;
      if (attr == CU_MEMPOOL_ATTR_USED_MEM_HIGH) pool->used_high = pool->used;
      if (attr == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) pool->heap.ResetReservedHigh();
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult gpusim_cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attr, void* value) {
  const Guard guard;
  std::shared_ptr<Pool> pool;
  GPUSIM_TRY(FindPool(handle, &pool));
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  switch (attr) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      return Write(value, pool->reuse[attr - 1]);
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      return Write<cuuint64_t>(value, pool->release_threshold);
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
      return Write<cuuint64_t>(value, pool->heap.reserved());
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      return Write<cuuint64_t>(value, pool->heap.reserved_high());
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
      return Write<cuuint64_t>(value, pool->used);
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      return Write<cuuint64_t>(value, pool->used_high);
    case CU_MEMPOOL_ATTR_ALLOCATION_TYPE:
      return Write(value, pool->props.allocType);
    case CU_MEMPOOL_ATTR_EXPORT_HANDLE_TYPES:
      return Write(value, pool->imported ? CU_MEM_HANDLE_TYPE_NONE : pool->props.handleTypes);
    case CU_MEMPOOL_ATTR_LOCATION_ID:
      return Write(value, pool->props.location.id);
    case CU_MEMPOOL_ATTR_LOCATION_TYPE:
      return Write(value, pool->props.location.type);
    case CU_MEMPOOL_ATTR_MAX_POOL_SIZE:
      return Write<cuuint64_t>(value, RoundUp(pool->props.maxSize, kGranularity));
    case CU_MEMPOOL_ATTR_HW_DECOMPRESS_ENABLED:
      return Write(value, 0);
    case CU_MEMPOOL_ATTR_LOCALITY_DOMAIN_ID:
      return Write(value, -1);
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult gpusim_cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc* map, size_t count) {
  const Guard guard;
  std::shared_ptr<Pool> pool;
  GPUSIM_TRY(FindPool(handle, &pool));
  if (map == nullptr && count > 0) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < count; ++i) {
    int device = -1;
    GPUSIM_TRY(PoolDevice(map[i].location, &device));
    // The device that the memory is on always has access (header).
    if (device == pool->device && map[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    pool->access[device] = map[i].flags;
  }
  return CUDA_SUCCESS;
}

CUresult gpusim_cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool handle,
                                   CUmemLocation* location) {
  const Guard guard;
  std::shared_ptr<Pool> pool;
  GPUSIM_TRY(FindPool(handle, &pool));
  if (flags == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  int device = -1;
  GPUSIM_TRY(PoolDevice(*location, &device));
  const auto known = pool->access.find(device);
  const unsigned own =
      device == pool->device ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
  *flags = static_cast<CUmemAccess_flags>(known == pool->access.end() ? own : known->second);
  return CUDA_SUCCESS;
}

CUresult gpusim_cuDeviceGetDefaultMemPool(CUmemoryPool* pool_out, CUdevice dev) {
  return PoolOfDevice(pool_out, dev, &Device::default_pool);
}
CUresult gpusim_cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice dev) {
  return PoolOfDevice(pool, dev, &Device::current_pool);
}
CUresult gpusim_cuMemGetDefaultMemPool(CUmemoryPool* pool_out, CUmemLocation* location,
                                       CUmemAllocationType) {
  return PoolOfLocation(pool_out, location, &Device::default_pool);
}
CUresult gpusim_cuMemGetMemPool(CUmemoryPool* pool, CUmemLocation* location, CUmemAllocationType) {
  return PoolOfLocation(pool, location, &Device::current_pool);
}

CUresult gpusim_cuDeviceSetMemPool(CUdevice dev, CUmemoryPool handle) {
  const Guard guard;
  Device* device = nullptr;
  GPUSIM_TRY(FindDevice(dev, &device));
  std::shared_ptr<Pool> pool;
  GPUSIM_TRY(FindPool(handle, &pool));
  if (pool->device != dev) return CUDA_ERROR_INVALID_VALUE;
  device->current_pool = pool;
  return CUDA_SUCCESS;
}

CUresult gpusim_cuMemSetMemPool(CUmemLocation* location, CUmemAllocationType, CUmemoryPool pool) {
  if (location == nullptr || location->type != CU_MEM_LOCATION_TYPE_DEVICE) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return gpusim_cuDeviceSetMemPool(location->id, pool);
}

}  // extern "C"

}  // namespace gputrace::sim

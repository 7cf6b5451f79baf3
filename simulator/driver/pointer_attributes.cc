// SPDX-License-Identifier: Apache-2.0
// What the driver knows of a pointer.
#include <cstring>

#include "bodies.h"
#include "simulator/driver/context.h"
#include "simulator/driver/pool.h"
#include "simulator/driver/vmm.h"

namespace gputrace::sim {
namespace {

constexpr int kNoDevice = -2;  // CU_DEVICE_INVALID

template <typename Value>
CUresult Write(void* out, Value value) {
  memcpy(out, &value, sizeof(value));
  return CUDA_SUCCESS;
}

bool IsHostAccessible(const Allocation& allocation) {
  return allocation.on_host() || allocation.kind == MemoryKind::kManaged;
}

// Virtual memory belongs to no context. Programs still expect one: that of its device (assumed).
CUcontext ContextOf(const Allocation& allocation) {
  if (allocation.context != nullptr) return HandleOf(allocation.context);
  if (allocation.device < 0) return nullptr;
  return HandleOf(TheDriver().devices[static_cast<size_t>(allocation.device)]->primary.get());
}

uint64_t ExportTypes(const Allocation& allocation) {
  if (allocation.physical != nullptr) return allocation.physical->props.requestedHandleTypes;
  return allocation.pool != nullptr ? allocation.pool->props.handleTypes : 0;
}

CUresult Attribute(const Allocation& a, CUpointer_attribute attribute, CUdeviceptr ptr, void* out) {
  const int host_device = a.context != nullptr ? a.context->device : 0;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return Write(out, HandleNumber(ContextOf(a)));
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return Write<unsigned>(
          out, a.on_host() || a.device < 0 ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return Write(out, ptr);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      if (!IsHostAccessible(a)) return CUDA_ERROR_INVALID_VALUE;
      return Write(out, ptr);
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      return Write<unsigned>(out, a.sync_memops ? 1 : 0);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      return Write<unsigned long long>(out, a.id);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return Write<unsigned>(out, a.kind == MemoryKind::kManaged ? 1 : 0);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return Write(out, a.device >= 0 ? a.device : host_device);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      return Write<unsigned>(out, a.kind == MemoryKind::kDevice ? 1 : 0);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      return Write<CUdeviceptr>(out, a.address);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
      return Write<size_t>(out, a.size);
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return Write<unsigned>(out, 1);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return Write(out, ExportTypes(a));
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return Write(out, a.access);
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return Write(out, HandleNumber(HandleTable<Pool, CUmemoryPool>::HandleOf(a.pool.get())));
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
      return Write(out, false);
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

// For a pointer that the driver does not know, cuPointerGetAttributes gives these (header).
void AttributeOfUnknown(CUpointer_attribute attribute, void* out) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      Write(out, kNoDevice);
      return;
    case CU_POINTER_ATTRIBUTE_CONTEXT:
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      Write<uint64_t>(out, 0);
      return;
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
      Write(out, false);
      return;
    default:
      Write<unsigned>(out, 0);
      return;
  }
}

}  // namespace

extern "C" {

CUresult gpusim_cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr ptr) {
  const Guard guard;
  if (data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Allocation* allocation = TheDriver().allocations.Containing(ptr);
  if (allocation == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Attribute(*allocation, attribute, ptr, data);
}

CUresult gpusim_cuPointerGetAttributes(unsigned numAttributes, CUpointer_attribute* attributes,
                                       void** data, CUdeviceptr ptr) {
  const Guard guard;
  if (attributes == nullptr || data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Allocation* allocation = TheDriver().allocations.Containing(ptr);
  for (unsigned i = 0; i < numAttributes; ++i) {
    const bool known = allocation != nullptr &&
                       Attribute(*allocation, attributes[i], ptr, data[i]) == CUDA_SUCCESS;
    if (!known) AttributeOfUnknown(attributes[i], data[i]);
  }
  return CUDA_SUCCESS;
}

CUresult gpusim_cuPointerSetAttribute(const void* value, CUpointer_attribute attribute,
                                      CUdeviceptr ptr) {
  const Guard guard;
  Allocation* allocation = TheDriver().allocations.Containing(ptr);
  if (value == nullptr || allocation == nullptr || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  unsigned number = 0;
  memcpy(&number, value, sizeof(number));
  allocation->sync_memops = number != 0;
  return CUDA_SUCCESS;
}

}  // extern "C"

}  // namespace gputrace::sim

// SPDX-License-Identifier: Apache-2.0
// Copies and fills, done at once on host memory, and what is known of a pointer.
#include <sys/mman.h>

#include <cstring>

#include "simulator/driver/state.h"

namespace gputrace::sim {
namespace {

constexpr size_t kPageBytes = 4096;

CUresult Copy(void* to, const void* from, size_t bytes) {
  const Locked locked;
  Context* context = nullptr;
  if (const CUresult result = NeedContext(&context); result != CUDA_SUCCESS) return result;
  if (bytes == 0) return CUDA_SUCCESS;
  if (to == nullptr || from == nullptr) return CUDA_ERROR_INVALID_VALUE;
  memmove(to, from, bytes);
  return CUDA_SUCCESS;
}

void* Host(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

// Zeroing gives whole pages back instead of touching them: large cards fit on small machines.
void Zero(uint64_t address, size_t bytes) {
  const Allocation* allocation = FindAllocation(address);
  const uint64_t first = RoundUp(address, kPageBytes);
  const uint64_t last = (address + bytes) / kPageBytes * kPageBytes;
  const bool is_private = allocation != nullptr && allocation->kind != MemoryKind::kRegistered &&
                          allocation->kind != MemoryKind::kReservedVa;
  if (!is_private || last <= first ||
      madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED) != 0) {
    memset(Host(address), 0, bytes);
    return;
  }
  memset(Host(address), 0, first - address);
  memset(Host(last), 0, address + bytes - last);
}

template <typename T>
CUresult Fill(CUdeviceptr address, T value, size_t count) {
  const Locked locked;
  Context* context = nullptr;
  if (const CUresult result = NeedContext(&context); result != CUDA_SUCCESS) return result;
  if (count == 0) return CUDA_SUCCESS;
  if (address == 0 || address % sizeof(T) != 0) return CUDA_ERROR_INVALID_VALUE;
  if (value == 0) {
    Zero(address, count * sizeof(T));
    return CUDA_SUCCESS;
  }
  T* at = static_cast<T*>(Host(address));
  for (size_t i = 0; i < count; ++i) at[i] = value;
  return CUDA_SUCCESS;
}

CUmemorytype TypeOf(const Allocation& allocation) {
  const bool host =
      allocation.kind == MemoryKind::kPinned || allocation.kind == MemoryKind::kRegistered;
  return host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}

CUresult Attribute(void* out, CUpointer_attribute attribute, const Allocation& allocation) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      *static_cast<CUcontext*>(out) = reinterpret_cast<CUcontext>(allocation.context);
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *static_cast<CUmemorytype*>(out) = TypeOf(allocation);
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      *static_cast<uint64_t*>(out) = allocation.address;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      *static_cast<size_t*>(out) = allocation.size;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      *static_cast<int*>(out) = allocation.kind == MemoryKind::kManaged ? 1 : 0;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      *static_cast<int*>(out) = allocation.device;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      *static_cast<CUmemoryPool*>(out) = reinterpret_cast<CUmemoryPool>(allocation.pool);
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

}  // namespace

CUresult Sim_cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t n) { return Copy(Host(to), Host(from), n); }
CUresult Sim_cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t n, CUstream) {
  return Copy(Host(to), Host(from), n);
}
CUresult Sim_cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t n) { return Copy(Host(to), from, n); }
CUresult Sim_cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t n, CUstream) {
  return Copy(Host(to), from, n);
}
CUresult Sim_cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t n) { return Copy(to, Host(from), n); }
CUresult Sim_cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t n, CUstream) {
  return Copy(to, Host(from), n);
}
CUresult Sim_cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t n) {
  return Copy(Host(to), Host(from), n);
}
CUresult Sim_cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t n, CUstream) {
  return Copy(Host(to), Host(from), n);
}
CUresult Sim_cuMemcpyPeer(CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, size_t n) {
  return Copy(Host(to), Host(from), n);
}

CUresult Sim_cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t n) { return Fill(to, value, n); }
CUresult Sim_cuMemsetD16_v2(CUdeviceptr to, unsigned short value, size_t n) { return Fill(to, value, n); }
CUresult Sim_cuMemsetD32_v2(CUdeviceptr to, unsigned int value, size_t n) { return Fill(to, value, n); }
CUresult Sim_cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t n, CUstream) {
  return Fill(to, value, n);
}
CUresult Sim_cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t n, CUstream) {
  return Fill(to, value, n);
}
CUresult Sim_cuMemsetD32Async(CUdeviceptr to, unsigned int value, size_t n, CUstream) {
  return Fill(to, value, n);
}

CUresult Sim_cuPointerGetAttribute(void* out, CUpointer_attribute attribute, CUdeviceptr address) {
  const Locked locked;
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Allocation* allocation = FindAllocation(address);
  if (allocation == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Attribute(out, attribute, *allocation);
}

CUresult Sim_cuPointerGetAttributes(unsigned int count, CUpointer_attribute* attributes, void** out,
                                    CUdeviceptr address) {
  const Locked locked;
  if (attributes == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Allocation* allocation = FindAllocation(address);
  for (unsigned int i = 0; i < count; ++i) {
    if (allocation == nullptr) {
      // Of memory that is not the driver's nothing is said, without failing (header).
      if (attributes[i] == CU_POINTER_ATTRIBUTE_MEMORY_TYPE) *static_cast<int*>(out[i]) = 0;
      continue;
    }
    Attribute(out[i], attributes[i], *allocation);
  }
  return CUDA_SUCCESS;
}

}  // namespace gputrace::sim

// SPDX-License-Identifier: Apache-2.0
// Linear device memory, managed memory, and page-locked host memory.
#include <algorithm>

#include "simulator/driver/journal.h"
#include "simulator/driver/state.h"

namespace gputrace::sim {
namespace {

constexpr size_t kPageBytes = 4096;
constexpr size_t kPitchAlignment = 512;

void Add(const Allocation& allocation, const char* call, const char* kind) {
  state().allocations[allocation.address] = allocation;
  NoteChange({call, '+', kind, allocation.address, allocation.size, allocation.device,
              reinterpret_cast<uint64_t>(allocation.context), 0, 0});
}

// Small requests share slabs of 2 MiB, large ones get their own.
CUresult TakeDeviceMemory(int ordinal, size_t size, uint64_t* address, size_t* reserved) {
  Device& device = state().devices[static_cast<size_t>(ordinal)];
  *reserved = RoundUp(size, kAlignment);
  if (*reserved >= kGranularity / 2) {
    *reserved = RoundUp(size, kGranularity);
    if (const CUresult result = TakePhysical(ordinal, *reserved); result != CUDA_SUCCESS) {
      return result;
    }
    *address = MapMemory(*reserved);
    if (*address != 0) return CUDA_SUCCESS;
    ReturnPhysical(ordinal, *reserved);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  *address = TakeRange(&device.slab_free, *reserved);
  if (*address != 0) return CUDA_SUCCESS;
  if (const CUresult result = TakePhysical(ordinal, kGranularity); result != CUDA_SUCCESS) {
    return result;
  }
  const uint64_t slab = MapMemory(kGranularity);
  if (slab == 0) {
    ReturnPhysical(ordinal, kGranularity);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  device.slabs[slab] = kGranularity;
  ReturnRange(&device.slab_free, slab, kGranularity);
  *address = TakeRange(&device.slab_free, *reserved);
  return CUDA_SUCCESS;
}

CUresult AllocateDevice(CUdeviceptr* out, size_t size, const char* call) {
  const Locked locked;
  Context* context = nullptr;
  if (const CUresult result = NeedContext(&context); result != CUDA_SUCCESS) return result;
  if (out == nullptr || size == 0) return CUDA_ERROR_INVALID_VALUE;
  Allocation allocation;
  allocation.size = size;
  allocation.device = context->device;
  allocation.context = context;
  const CUresult result =
      TakeDeviceMemory(context->device, size, &allocation.address, &allocation.reserved);
  if (result != CUDA_SUCCESS) return result;
  Add(allocation, call, "device");
  *out = allocation.address;
  return CUDA_SUCCESS;
}

CUresult AllocateHost(void** out, size_t size, unsigned flags, const char* call) {
  const Locked locked;
  Context* context = nullptr;
  if (const CUresult result = NeedContext(&context); result != CUDA_SUCCESS) return result;
  if (out == nullptr || size == 0) return CUDA_ERROR_INVALID_VALUE;
  Allocation allocation;
  allocation.kind = MemoryKind::kPinned;
  allocation.size = size;
  allocation.reserved = RoundUp(size, kPageBytes);
  allocation.device = context->device;
  allocation.context = context;
  allocation.flags = flags;
  allocation.address = MapMemory(allocation.reserved);
  if (allocation.address == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  Add(allocation, call, "pinned");
  *out = reinterpret_cast<void*>(allocation.address);
  return CUDA_SUCCESS;
}

CUresult Register(void* memory, size_t size, unsigned flags, const char* call) {
  const Locked locked;
  Context* context = nullptr;
  if (const CUresult result = NeedContext(&context); result != CUDA_SUCCESS) return result;
  if (memory == nullptr || size == 0) return CUDA_ERROR_INVALID_VALUE;
  const auto address = reinterpret_cast<uint64_t>(memory);
  if (FindAllocation(address) != nullptr) return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  Allocation allocation;
  allocation.kind = MemoryKind::kRegistered;
  allocation.address = address;
  allocation.size = size;
  allocation.device = context->device;
  allocation.context = context;
  allocation.flags = flags;
  Add(allocation, call, "registered");
  return CUDA_SUCCESS;
}

Allocation* FindBase(uint64_t address) {
  Allocation* allocation = FindAllocation(address);
  return allocation != nullptr && allocation->address == address ? allocation : nullptr;
}

}  // namespace

CUresult Sim_cuMemAlloc_v2(CUdeviceptr* address, size_t size) {
  return AllocateDevice(address, size, "cuMemAlloc_v2");
}

CUresult Sim_cuMemAllocPitch_v2(CUdeviceptr* address, size_t* pitch, size_t width, size_t height,
                                unsigned int element) {
  if (pitch == nullptr || width == 0 || height == 0) return CUDA_ERROR_INVALID_VALUE;
  if (element != 4 && element != 8 && element != 16) return CUDA_ERROR_INVALID_VALUE;
  const size_t padded = RoundUp(width, kPitchAlignment);
  const CUresult result = AllocateDevice(address, padded * height, "cuMemAllocPitch_v2");
  if (result == CUDA_SUCCESS) *pitch = padded;
  return result;
}

CUresult Sim_cuMemAllocManaged(CUdeviceptr* address, size_t size, unsigned int flags) {
  const Locked locked;
  Context* context = nullptr;
  if (const CUresult result = NeedContext(&context); result != CUDA_SUCCESS) return result;
  if (address == nullptr || size == 0) return CUDA_ERROR_INVALID_VALUE;
  if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST) return CUDA_ERROR_INVALID_VALUE;
  Allocation allocation;
  allocation.kind = MemoryKind::kManaged;
  allocation.size = size;
  allocation.reserved = RoundUp(size, kPageBytes);
  allocation.device = context->device;
  allocation.context = context;
  allocation.flags = flags;
  allocation.address = MapMemory(allocation.reserved);
  if (allocation.address == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  Add(allocation, "cuMemAllocManaged", "managed");
  *address = allocation.address;
  return CUDA_SUCCESS;
}

CUresult Sim_cuMemFree_v2(CUdeviceptr address) {
  const Locked locked;
  Context* context = nullptr;
  if (const CUresult result = NeedContext(&context); result != CUDA_SUCCESS) return result;
  if (address == 0) return CUDA_SUCCESS;
  Allocation* allocation = FindBase(address);
  if (allocation == nullptr) return CUDA_ERROR_INVALID_VALUE;
  switch (allocation->kind) {
    case MemoryKind::kDevice:
    case MemoryKind::kManaged:
    case MemoryKind::kPool:
    case MemoryKind::kGraph:
      FreeAllocation(allocation, "cuMemFree_v2");
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult Sim_cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* size, CUdeviceptr address) {
  const Locked locked;
  const Allocation* allocation = FindAllocation(address);
  if (allocation == nullptr) return CUDA_ERROR_NOT_FOUND;
  if (base != nullptr) *base = allocation->address;
  if (size != nullptr) *size = allocation->size;
  return CUDA_SUCCESS;
}

CUresult Sim_cuMemHostAlloc(void** memory, size_t size, unsigned int flags) {
  return AllocateHost(memory, size, flags, "cuMemHostAlloc");
}
CUresult Sim_cuMemAllocHost_v2(void** memory, size_t size) {
  return AllocateHost(memory, size, 0, "cuMemAllocHost_v2");
}

CUresult Sim_cuMemFreeHost(void* memory) {
  const Locked locked;
  Context* context = nullptr;
  if (const CUresult result = NeedContext(&context); result != CUDA_SUCCESS) return result;
  Allocation* allocation = FindBase(reinterpret_cast<uint64_t>(memory));
  if (allocation == nullptr || allocation->kind != MemoryKind::kPinned) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  FreeAllocation(allocation, "cuMemFreeHost");
  return CUDA_SUCCESS;
}

CUresult Sim_cuMemHostRegister_v2(void* memory, size_t size, unsigned int flags) {
  return Register(memory, size, flags, "cuMemHostRegister_v2");
}
CUresult Sim_cuMemHostRegister(void* memory, size_t size, unsigned int flags) {
  return Register(memory, size, flags, "cuMemHostRegister");
}

CUresult Sim_cuMemHostUnregister(void* memory) {
  const Locked locked;
  Context* context = nullptr;
  if (const CUresult result = NeedContext(&context); result != CUDA_SUCCESS) return result;
  Allocation* allocation = FindBase(reinterpret_cast<uint64_t>(memory));
  if (allocation == nullptr || allocation->kind != MemoryKind::kRegistered) {
    return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  }
  FreeAllocation(allocation, "cuMemHostUnregister");
  return CUDA_SUCCESS;
}

CUresult Sim_cuMemHostGetDevicePointer_v2(CUdeviceptr* address, void* memory, unsigned int) {
  const Locked locked;
  if (address == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (FindAllocation(reinterpret_cast<uint64_t>(memory)) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *address = reinterpret_cast<CUdeviceptr>(memory);
  return CUDA_SUCCESS;
}

CUresult Sim_cuMemHostGetFlags(unsigned int* flags, void* memory) {
  const Locked locked;
  const Allocation* allocation = FindAllocation(reinterpret_cast<uint64_t>(memory));
  if (allocation == nullptr || flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = allocation->flags;
  return CUDA_SUCCESS;
}

}  // namespace gputrace::sim

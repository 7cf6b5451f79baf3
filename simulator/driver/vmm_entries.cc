// SPDX-License-Identifier: Apache-2.0
// cuMemCreate, cuMemMap and their like. None of them needs a current context.
#include <sys/mman.h>

#include <algorithm>
#include <iterator>

#include "bodies.h"
#include "simulator/driver/physical_memory.h"
#include "simulator/driver/vmm.h"

namespace gputrace::sim {
namespace {

constexpr uint64_t kPage = 4096;

// The mappings that make up a range, without a gap and without parts of others. Empty: it is not
// so.
std::vector<Allocation*> MappingsOf(uint64_t address, uint64_t size) {
  uint64_t next = address;
  std::vector<Allocation*> found = TheDriver().allocations.Overlapping(address, size);
  for (const Allocation* allocation : found) {
    if (allocation->kind != MemoryKind::kMapping || allocation->address != next) return {};
    next += allocation->size;
  }
  if (next != address + size) return {};
  return found;
}

bool IsReserved(uint64_t address, uint64_t size) {
  const auto& reservations = TheDriver().reservations;
  const auto after = reservations.upper_bound(address);
  if (after == reservations.begin()) return false;
  const auto& [start, length] = *std::prev(after);
  return address + size <= start + length;
}

int Protection(unsigned access) {
  int protection = PROT_NONE;
  if ((access & CU_MEM_ACCESS_FLAGS_PROT_READ) != 0) protection |= PROT_READ;
  if (access == CU_MEM_ACCESS_FLAGS_PROT_READWRITE) protection |= PROT_READ | PROT_WRITE;
  return protection;
}

}  // namespace

extern "C" {

CUresult gpusim_cuMemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp* prop,
                                              CUmemAllocationGranularity_flags) {
  const Guard guard;
  if (granularity == nullptr || prop == nullptr) return CUDA_ERROR_INVALID_VALUE;
  int device = -1;
  GPUSIM_TRY(PhysicalDevice(prop->location, &device));
  *granularity = kGranularity;
  return CUDA_SUCCESS;
}

CUresult gpusim_cuMemCreate(CUmemGenericAllocationHandle* handle, size_t size,
                            const CUmemAllocationProp* prop, unsigned long long flags) {
  const Guard guard;
  if (handle == nullptr || prop == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (size == 0 || size % kGranularity != 0) return CUDA_ERROR_INVALID_VALUE;
  if (prop->type != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
  if ((prop->requestedHandleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != 0) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  const auto made = std::make_shared<PhysicalAllocation>();
  GPUSIM_TRY(PhysicalDevice(prop->location, &made->device));
  made->props = *prop;
  made->size = size;
  Device* device = nullptr;
  if (made->device >= 0) GPUSIM_TRY(FindDevice(made->device, &device));
  if (device != nullptr && !device->Charge(size)) return CUDA_ERROR_OUT_OF_MEMORY;
  PhysicalMemory* memory = MemoryOf(made->device);
  const auto offset = memory->Take(size);
  if (!offset) {
    if (device != nullptr) device->Discharge(size);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  made->file = memory->file();
  made->offset = *offset;
  *handle = AddPhysical(made);
  return CUDA_SUCCESS;
}

CUresult gpusim_cuMemRelease(CUmemGenericAllocationHandle handle) {
  const Guard guard;
  const auto allocation = FindPhysical(handle);
  if (allocation == nullptr) return CUDA_ERROR_INVALID_VALUE;
  --allocation->references;
  EndIfUnused(allocation);
  return CUDA_SUCCESS;
}

CUresult gpusim_cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* addr) {
  const Guard guard;
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Allocation* mapping = TheDriver().allocations.Containing(reinterpret_cast<uint64_t>(addr));
  if (mapping == nullptr || mapping->kind != MemoryKind::kMapping) return CUDA_ERROR_INVALID_VALUE;
  ++mapping->physical->references;
  *handle = HandleOf(mapping->physical.get());
  return CUDA_SUCCESS;
}

CUresult gpusim_cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* prop,
                                                       CUmemGenericAllocationHandle handle) {
  const Guard guard;
  const auto allocation = FindPhysical(handle);
  if (prop == nullptr || allocation == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *prop = allocation->props;
  return CUDA_SUCCESS;
}

CUresult gpusim_cuMemAddressReserve(CUdeviceptr* ptr, size_t size, size_t alignment,
                                    CUdeviceptr addr, unsigned long long flags) {
  const Guard guard;
  if (ptr == nullptr || size == 0 || size % kPage != 0 || flags != 0)
    return CUDA_ERROR_INVALID_VALUE;
  if ((alignment & (alignment - 1)) != 0) return CUDA_ERROR_INVALID_VALUE;
  const uint64_t address =
      ReserveAddresses(size, std::max<uint64_t>(alignment, kGranularity), addr);
  if (address == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  TheDriver().reservations[address] = size;
  TheDriver().ledger.Add({.kind = "reserved_va", .address = address, .size = size});
  *ptr = address;
  return CUDA_SUCCESS;
}

CUresult gpusim_cuMemAddressFree(CUdeviceptr ptr, size_t size) {
  const Guard guard;
  const auto found = TheDriver().reservations.find(ptr);
  if (found == TheDriver().reservations.end() || found->second != size)
    return CUDA_ERROR_INVALID_VALUE;
  if (!TheDriver().allocations.Overlapping(ptr, size).empty()) return CUDA_ERROR_INVALID_VALUE;
  ReleaseAddresses(ptr, size);
  TheDriver().reservations.erase(found);
  TheDriver().ledger.Remove("reserved_va", ptr);
  return CUDA_SUCCESS;
}

CUresult gpusim_cuMemMap(CUdeviceptr ptr, size_t size, size_t offset,
                         CUmemGenericAllocationHandle handle, unsigned long long flags) {
  const Guard guard;
  const auto physical = FindPhysical(handle);
  if (physical == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (size == 0 || ptr % kGranularity != 0 || size % kGranularity != 0 ||
      offset % kGranularity != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (offset + size > physical->size || !IsReserved(ptr, size)) return CUDA_ERROR_INVALID_VALUE;
  if (!TheDriver().allocations.Overlapping(ptr, size).empty()) return CUDA_ERROR_INVALID_VALUE;
  if (MapFile(physical->file, physical->offset + offset, size, PROT_NONE, ptr) == 0) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  ++physical->mappings;
  TheDriver().allocations.Add({.kind = MemoryKind::kMapping,
                               .address = ptr,
                               .size = size,
                               .device = physical->device,
                               .physical = physical,
                               .offset = offset,
                               .access = CU_MEM_ACCESS_FLAGS_PROT_NONE});
  return CUDA_SUCCESS;
}

CUresult gpusim_cuMemUnmap(CUdeviceptr ptr, size_t size) {
  const Guard guard;
  const std::vector<Allocation*> mappings = MappingsOf(ptr, size);
  if (mappings.empty()) return CUDA_ERROR_INVALID_VALUE;
  DetachMemory(ptr, size);
  for (Allocation* mapping : mappings) {
    const std::shared_ptr<PhysicalAllocation> physical = mapping->physical;
    TheDriver().allocations.Remove(*mapping);
    --physical->mappings;
    EndIfUnused(physical);
  }
  return CUDA_SUCCESS;
}

CUresult gpusim_cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc* desc,
                               size_t count) {
  const Guard guard;
  const std::vector<Allocation*> mappings = MappingsOf(ptr, size);
  if (mappings.empty() || desc == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  unsigned access = 0;
  for (size_t i = 0; i < count; ++i) {
    int device = -1;
    GPUSIM_TRY(PhysicalDevice(desc[i].location, &device));
    access |= desc[i].flags;
  }
  if (mprotect(reinterpret_cast<void*>(ptr), size, Protection(access)) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (Allocation* mapping : mappings) mapping->access = access;
  return CUDA_SUCCESS;
}

CUresult gpusim_cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location,
                               CUdeviceptr ptr) {
  const Guard guard;
  const Allocation* mapping = TheDriver().allocations.Containing(ptr);
  if (flags == nullptr || location == nullptr || mapping == nullptr)
    return CUDA_ERROR_INVALID_VALUE;
  *flags = mapping->access;
  return CUDA_SUCCESS;
}

}  // extern "C"

}  // namespace gputrace::sim

// SPDX-License-Identifier: Apache-2.0
// Virtual memory management: reserved addresses, physical memory by reference counts, mappings.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "simulator/driver/journal.h"
#include "simulator/driver/state.h"

namespace gputrace::sim {
namespace {

Physical* ToPhysical(CUmemGenericAllocationHandle handle) {
  auto* physical = reinterpret_cast<Physical*>(handle);
  const auto& all = state().physicals;
  const bool known = std::find(all.begin(), all.end(), physical) != all.end();
  return known && physical->alive ? physical : nullptr;
}

// The memory goes with the last of handle references, mappings and exports.
void FreeIfUnused(Physical* physical, const char* call) {
  if (physical->references > 0 || physical->mappings > 0 || physical->exports > 0) return;
  physical->alive = false;
  close(physical->file);
  if (physical->device >= 0) ReturnPhysical(physical->device, physical->size);
  NoteChange({call, '-', "vmm", 0, physical->size, physical->device, 0, 0,
              reinterpret_cast<uint64_t>(physical)});
}

bool IsInsideReservation(uint64_t address, size_t size) {
  const Allocation* reservation = FindAllocation(address);
  return reservation != nullptr && reservation->kind == MemoryKind::kReservedVa &&
         address + size <= reservation->address + reservation->size;
}

}  // namespace

CUresult Sim_cuMemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp* properties,
                                           CUmemAllocationGranularity_flags) {
  if (granularity == nullptr || properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *granularity = kGranularity;
  return CUDA_SUCCESS;
}

CUresult Sim_cuMemCreate(CUmemGenericAllocationHandle* handle, size_t size,
                         const CUmemAllocationProp* properties, unsigned long long) {
  const Locked locked;
  if (!state().initialised) return CUDA_ERROR_NOT_INITIALIZED;
  if (handle == nullptr || properties == nullptr || size == 0 || size % kGranularity != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const bool on_device = properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE;
  const int device = on_device ? properties->location.id : -1;
  if (on_device && !IsDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  if (on_device) {
    if (const CUresult result = TakePhysical(device, size); result != CUDA_SUCCESS) return result;
  }
  auto* physical = new Physical;
  physical->size = size;
  physical->device = device;
  physical->properties = *properties;
  physical->file = memfd_create("gputrace-stand-in", MFD_CLOEXEC);
  if (physical->file < 0 || ftruncate(physical->file, static_cast<off_t>(size)) != 0) {
    if (on_device) ReturnPhysical(device, size);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  state().physicals.push_back(physical);
  *handle = reinterpret_cast<CUmemGenericAllocationHandle>(physical);
  NoteChange({"cuMemCreate", '+', "vmm", 0, size, device, 0, 0, *handle});
  return CUDA_SUCCESS;
}

CUresult Sim_cuMemRelease(CUmemGenericAllocationHandle handle) {
  const Locked locked;
  Physical* physical = ToPhysical(handle);
  if (physical == nullptr || physical->references == 0) return CUDA_ERROR_INVALID_VALUE;
  --physical->references;
  FreeIfUnused(physical, "cuMemRelease");
  return CUDA_SUCCESS;
}

CUresult Sim_cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* address) {
  const Locked locked;
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto& mappings = state().mappings;
  auto found = mappings.upper_bound(reinterpret_cast<uint64_t>(address));
  if (found == mappings.begin()) return CUDA_ERROR_INVALID_VALUE;
  --found;
  if (reinterpret_cast<uint64_t>(address) >= found->second.address + found->second.size) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  ++found->second.physical->references;
  *handle = reinterpret_cast<CUmemGenericAllocationHandle>(found->second.physical);
  return CUDA_SUCCESS;
}

CUresult Sim_cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* properties,
                                                    CUmemGenericAllocationHandle handle) {
  const Locked locked;
  const Physical* physical = ToPhysical(handle);
  if (physical == nullptr || properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *properties = physical->properties;
  return CUDA_SUCCESS;
}

// An exported descriptor is a duplicate of the memory's own: the kernel keeps the pages for whoever
// holds it, and this process's account counts the export.
CUresult Sim_cuMemExportToShareableHandle(void* out, CUmemGenericAllocationHandle handle,
                                          CUmemAllocationHandleType type, unsigned long long) {
  const Locked locked;
  const Physical* physical = ToPhysical(handle);
  if (physical == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
  const int copy = dup(physical->file);
  if (copy < 0) return CUDA_ERROR_OUT_OF_MEMORY;
  *static_cast<int*>(out) = copy;
  return CUDA_SUCCESS;
}

CUresult Sim_cuMemAddressReserve(CUdeviceptr* out, size_t size, size_t alignment, CUdeviceptr,
                                 unsigned long long) {
  const Locked locked;
  if (!state().initialised) return CUDA_ERROR_NOT_INITIALIZED;
  if (out == nullptr || size == 0 || size % kGranularity != 0 ||
      (alignment & (alignment - 1)) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const size_t unit = std::max(alignment, kGranularity);
  // Reserved with room to spare and trimmed to the alignment.
  void* at = mmap(nullptr, size + unit, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  const auto start = reinterpret_cast<uint64_t>(at);
  const uint64_t aligned = RoundUp(start, unit);
  if (aligned > start) UnmapMemory(start, aligned - start);
  if (start + unit > aligned) UnmapMemory(aligned + size, start + unit - aligned);
  Allocation reservation;
  reservation.kind = MemoryKind::kReservedVa;
  reservation.address = aligned;
  reservation.size = size;
  reservation.reserved = size;
  reservation.device = -1;
  state().allocations[aligned] = reservation;
  NoteChange({"cuMemAddressReserve", '+', "reserved_va", aligned, size, -1, 0, 0, 0});
  *out = aligned;
  return CUDA_SUCCESS;
}

CUresult Sim_cuMemAddressFree(CUdeviceptr address, size_t size) {
  const Locked locked;
  Allocation* reservation = FindAllocation(address);
  if (reservation == nullptr || reservation->kind != MemoryKind::kReservedVa ||
      reservation->address != address || reservation->size != size) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const auto mapped = state().mappings.lower_bound(address);
  if (mapped != state().mappings.end() && mapped->first < address + size) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  FreeAllocation(reservation, "cuMemAddressFree");
  return CUDA_SUCCESS;
}

CUresult Sim_cuMemMap(CUdeviceptr address, size_t size, size_t offset,
                      CUmemGenericAllocationHandle handle, unsigned long long) {
  const Locked locked;
  Physical* physical = ToPhysical(handle);
  if (physical == nullptr || size == 0 || size % kGranularity != 0 || offset != 0 ||
      size > physical->size || !IsInsideReservation(address, size)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const auto after = state().mappings.upper_bound(address);
  if (after != state().mappings.begin()) {
    const Mapping& before = std::prev(after)->second;
    if (before.address + before.size > address) return CUDA_ERROR_INVALID_VALUE;
  }
  if (after != state().mappings.end() && after->first < address + size) return CUDA_ERROR_INVALID_VALUE;
  void* at = mmap(reinterpret_cast<void*>(address), size, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_FIXED, physical->file, 0);
  if (at == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  ++physical->mappings;
  state().mappings[address] = {address, size, physical};
  NoteChange({"cuMemMap", '+', "mapping", address, size, physical->device, 0, 0, handle});
  return CUDA_SUCCESS;
}

CUresult Sim_cuMemUnmap(CUdeviceptr address, size_t size) {
  const Locked locked;
  auto& mappings = state().mappings;
  const auto first = mappings.find(address);
  uint64_t end = address;
  auto last = first;
  for (; last != mappings.end() && last->first == end && end < address + size; ++last) {
    end += last->second.size;
  }
  // Whole mappings that adjoin, or nothing (header).
  if (first == mappings.end() || end != address + size) return CUDA_ERROR_INVALID_VALUE;
  mmap(reinterpret_cast<void*>(address), size, PROT_NONE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  std::vector<Mapping> gone;
  for (auto at = first; at != last; ++at) gone.push_back(at->second);
  mappings.erase(first, last);
  for (const Mapping& mapping : gone) {
    NoteChange({"cuMemUnmap", '-', "mapping", mapping.address, mapping.size, mapping.physical->device, 0,
                0, reinterpret_cast<uint64_t>(mapping.physical)});
    --mapping.physical->mappings;
    FreeIfUnused(mapping.physical, "cuMemUnmap");
  }
  return CUDA_SUCCESS;
}

CUresult Sim_cuMemSetAccess(CUdeviceptr address, size_t size, const CUmemAccessDesc* access,
                            size_t count) {
  const Locked locked;
  if (access == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  uint64_t covered = address;
  for (auto at = state().mappings.find(address);
       at != state().mappings.end() && at->first == covered && covered < address + size; ++at) {
    covered += at->second.size;
  }
  return covered == address + size ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult Sim_cuMemGetAccess(unsigned long long* flags, const CUmemLocation*, CUdeviceptr) {
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return CUDA_SUCCESS;
}

}  // namespace gputrace::sim

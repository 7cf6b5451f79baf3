// SPDX-License-Identifier: Apache-2.0
// Multicast objects: one address for memory on several devices. They hold references to what is
// bound to them; accesses go to memory of their own here.
#include <map>
#include <set>

#include "bodies.h"
#include "simulator/driver/physical_memory.h"
#include "simulator/driver/vmm.h"

namespace gputrace::sim {
namespace {

struct Multicast {
  unsigned devices = 0;  // that are to take part
  std::set<int> added;
  std::map<std::pair<int, uint64_t>, std::shared_ptr<PhysicalAllocation>>
      bound;  // by device and offset
};

// By handle.
std::map<uint64_t, Multicast>& Objects() {
  static auto* instance = new std::map<uint64_t, Multicast>;
  return *instance;
}

CUresult Bind(CUmemGenericAllocationHandle handle, int device, size_t offset,
              const std::shared_ptr<PhysicalAllocation>& memory, size_t size) {
  const auto object = FindPhysical(handle);
  if (object == nullptr || !object->multicast) return CUDA_ERROR_INVALID_VALUE;
  if (memory == nullptr || memory->multicast) return CUDA_ERROR_INVALID_VALUE;
  if (size == 0 || size % kGranularity != 0 || offset % kGranularity != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (offset + size > object->size || size > memory->size) return CUDA_ERROR_INVALID_VALUE;
  Multicast& multicast = Objects()[handle];
  // All devices have to be there before memory is bound (header).
  if (multicast.added.size() < multicast.devices) return CUDA_ERROR_ILLEGAL_STATE;
  if (!multicast.added.contains(device)) return CUDA_ERROR_INVALID_DEVICE;
  if (!multicast.bound.emplace(std::pair(device, offset), memory).second) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  ++memory->bindings;
  return CUDA_SUCCESS;
}

CUresult BindAddress(CUmemGenericAllocationHandle handle, int device, size_t offset,
                     CUdeviceptr address, size_t size) {
  const Allocation* mapping = TheDriver().allocations.Containing(address);
  if (mapping == nullptr || mapping->kind != MemoryKind::kMapping) return CUDA_ERROR_INVALID_VALUE;
  return Bind(handle, device < 0 ? mapping->device : device, offset, mapping->physical, size);
}

}  // namespace

void UnbindAll(CUmemGenericAllocationHandle multicast) {
  const auto object = Objects().find(multicast);
  if (object == Objects().end()) return;
  const auto bound = std::move(object->second.bound);
  Objects().erase(object);
  for (const auto& [where, memory] : bound) {
    --memory->bindings;
    EndIfUnused(memory);
  }
}

extern "C" {

CUresult gpusim_cuMulticastGetGranularity(size_t* granularity, const CUmulticastObjectProp* prop,
                                          CUmulticastGranularity_flags) {
  if (granularity == nullptr || prop == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *granularity = kGranularity;
  return CUDA_SUCCESS;
}

CUresult gpusim_cuMulticastCreate(CUmemGenericAllocationHandle* mcHandle,
                                  const CUmulticastObjectProp* prop) {
  const Guard guard;
  if (mcHandle == nullptr || prop == nullptr || prop->numDevices == 0 || prop->flags != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (prop->size == 0 || prop->size % kGranularity != 0) return CUDA_ERROR_INVALID_VALUE;
  const auto offset = MemoryOf(-1)->Take(prop->size);
  if (!offset) return CUDA_ERROR_OUT_OF_MEMORY;
  const auto object = std::make_shared<PhysicalAllocation>();
  object->size = prop->size;
  object->file = MemoryOf(-1)->file();
  object->offset = *offset;
  object->multicast = true;
  *mcHandle = AddPhysical(object);
  Objects()[*mcHandle] = {.devices = prop->numDevices, .added = {}, .bound = {}};
  return CUDA_SUCCESS;
}

CUresult gpusim_cuMulticastAddDevice(CUmemGenericAllocationHandle mcHandle, CUdevice dev) {
  const Guard guard;
  Device* device = nullptr;
  GPUSIM_TRY(FindDevice(dev, &device));
  const auto object = FindPhysical(mcHandle);
  if (object == nullptr || !object->multicast) return CUDA_ERROR_INVALID_VALUE;
  Multicast& multicast = Objects()[mcHandle];
  if (multicast.added.size() == multicast.devices || !multicast.added.insert(dev).second) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult gpusim_cuMulticastBindMem(CUmemGenericAllocationHandle mcHandle, size_t mcOffset,
                                   CUmemGenericAllocationHandle memHandle, size_t, size_t size,
                                   unsigned long long) {
  const Guard guard;
  const auto memory = FindPhysical(memHandle);
  return Bind(mcHandle, memory == nullptr ? -1 : memory->device, mcOffset, memory, size);
}

CUresult gpusim_cuMulticastBindMem_v2(CUmemGenericAllocationHandle mcHandle, CUdevice dev,
                                      size_t mcOffset, CUmemGenericAllocationHandle memHandle,
                                      size_t, size_t size, unsigned long long) {
  const Guard guard;
  return Bind(mcHandle, dev, mcOffset, FindPhysical(memHandle), size);
}

CUresult gpusim_cuMulticastBindAddr(CUmemGenericAllocationHandle mcHandle, size_t mcOffset,
                                    CUdeviceptr memptr, size_t size, unsigned long long) {
  const Guard guard;
  return BindAddress(mcHandle, -1, mcOffset, memptr, size);
}

CUresult gpusim_cuMulticastBindAddr_v2(CUmemGenericAllocationHandle mcHandle, CUdevice dev,
                                       size_t mcOffset, CUdeviceptr memptr, size_t size,
                                       unsigned long long) {
  const Guard guard;
  return BindAddress(mcHandle, dev, mcOffset, memptr, size);
}

CUresult gpusim_cuMulticastUnbind(CUmemGenericAllocationHandle mcHandle, CUdevice dev,
                                  size_t mcOffset, size_t) {
  const Guard guard;
  const auto object = FindPhysical(mcHandle);
  if (object == nullptr || !object->multicast) return CUDA_ERROR_INVALID_VALUE;
  Multicast& multicast = Objects()[mcHandle];
  const auto found = multicast.bound.find({dev, mcOffset});
  if (found == multicast.bound.end()) return CUDA_ERROR_INVALID_VALUE;
  const std::shared_ptr<PhysicalAllocation> memory = found->second;
  multicast.bound.erase(found);
  --memory->bindings;
  EndIfUnused(memory);
  return CUDA_SUCCESS;
}

}  // extern "C"

}  // namespace gputrace::sim

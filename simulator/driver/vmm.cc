// SPDX-License-Identifier: Apache-2.0
#include "simulator/driver/vmm.h"

#include <unistd.h>

#include "simulator/driver/physical_memory.h"

namespace gputrace::sim {
namespace {

const char* KindOf(const PhysicalAllocation& allocation) {
  if (allocation.multicast) return "multicast";
  return allocation.imported ? "vmm_import" : "vmm";
}

}  // namespace

PhysicalMemory* MemoryOf(int device) {
  Driver& driver = TheDriver();
  if (device >= 0) return driver.devices[static_cast<size_t>(device)]->memory.get();
  if (driver.host_memory == nullptr) driver.host_memory = std::make_unique<PhysicalMemory>("");
  return driver.host_memory.get();
}

std::shared_ptr<PhysicalAllocation> FindPhysical(CUmemGenericAllocationHandle handle) {
  const auto found = TheDriver().physical.Find(handle);
  return found != nullptr && found->references > 0 ? found : nullptr;
}

CUmemGenericAllocationHandle AddPhysical(const std::shared_ptr<PhysicalAllocation>& allocation) {
  allocation->id = TheDriver().next_id++;
  const CUmemGenericAllocationHandle handle = TheDriver().physical.Add(allocation);
  TheDriver().ledger.Add({.kind = KindOf(*allocation),
                          .size = allocation->size,
                          .device = allocation->device,
                          .handle = handle});
  return handle;
}

void EndIfUnused(const std::shared_ptr<PhysicalAllocation>& allocation) {
  if (allocation->references > 0 || allocation->mappings > 0 || allocation->bindings > 0) return;
  if (allocation->multicast) UnbindAll(HandleOf(allocation.get()));
  TheDriver().ledger.Remove(KindOf(*allocation), HandleOf(allocation.get()));
  TheDriver().physical.Remove(HandleOf(allocation.get()));
  if (allocation->imported) {
    close(allocation->file);
    return;
  }
  if (!allocation->exported)
    MemoryOf(allocation->device)->Return(allocation->offset, allocation->size);
  if (allocation->device >= 0) {
    TheDriver().devices[static_cast<size_t>(allocation->device)]->Discharge(allocation->size);
  }
}

CUresult PhysicalDevice(const CUmemLocation& location, int* device) {
  switch (location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE: {
      Device* found = nullptr;
      GPUSIM_TRY(FindDevice(location.id, &found));
      *device = found->ordinal;
      return CUDA_SUCCESS;
    }
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
      *device = -1;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace gputrace::sim

// SPDX-License-Identifier: Apache-2.0
// Virtual memory management: physical memory by handle, apart from addresses.
#ifndef GPUTRACE_SIMULATOR_DRIVER_VMM_H_
#define GPUTRACE_SIMULATOR_DRIVER_VMM_H_

#include <cstdint>
#include <memory>

#include "simulator/driver/driver.h"

namespace gputrace::sim {

// Lives as long as there are references by handle, mappings, or multicast objects that it is bound
// to.
struct PhysicalAllocation {
  CUmemAllocationProp props = {};
  uint64_t size = 0;
  int device = -1;      // -1: host
  int file = -1;        // where its bytes are
  uint64_t offset = 0;  // within the file
  int references =
      1;  // by cuMemCreate, cuMemImportFromShareableHandle, cuMemRetainAllocationHandle
  int mappings = 0;
  int bindings = 0;
  bool imported = false;  // another process's: its file is open here, its bytes are accounted there
  bool exported = false;  // others may have its bytes mapped, so that its place is not used again
  bool multicast = false;
  uint64_t id = 0;  // never used again, as handles are
};

inline CUmemGenericAllocationHandle HandleOf(const PhysicalAllocation* allocation) {
  return HandleTable<PhysicalAllocation, CUmemGenericAllocationHandle>::HandleOf(allocation);
}

// Where memory of a device is, or of the host (-1). Null if it could not be made.
PhysicalMemory* MemoryOf(int device);

// By a handle to which there is a reference; null: there is none such.
std::shared_ptr<PhysicalAllocation> FindPhysical(CUmemGenericAllocationHandle handle);

// Gives it a handle and tells the ledger.
CUmemGenericAllocationHandle AddPhysical(const std::shared_ptr<PhysicalAllocation>& allocation);

// Multicast objects let go of what is bound to them when they end.
void UnbindAll(CUmemGenericAllocationHandle multicast);

// To be called when references, mappings or bindings have become fewer: ends it if they are all
// gone.
void EndIfUnused(const std::shared_ptr<PhysicalAllocation>& allocation);

// Checks what cuMemCreate and the like are told of a location; its device, -1: host.
CUresult PhysicalDevice(const CUmemLocation& location, int* device);

}  // namespace gputrace::sim

#endif  // GPUTRACE_SIMULATOR_DRIVER_VMM_H_

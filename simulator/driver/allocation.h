// SPDX-License-Identifier: Apache-2.0
// Memory that has an address: what the driver knows of any pointer.
#ifndef GPUTRACE_SIMULATOR_DRIVER_ALLOCATION_H_
#define GPUTRACE_SIMULATOR_DRIVER_ALLOCATION_H_

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "simulator/driver/cuda_api.h"

namespace gputrace::sim {

struct Context;
struct PhysicalAllocation;
struct Pool;

enum class MemoryKind : uint8_t {
  kDevice,      // cuMemAlloc, cuMemAllocPitch
  kManaged,     // cuMemAllocManaged
  kPinned,      // cuMemHostAlloc, cuMemAllocHost
  kRegistered,  // cuMemHostRegister
  kPool,        // cuMemAllocAsync, cuMemAllocFromPoolAsync
  kGraph,       // allocated by the launch of a graph
  kMapping,     // cuMemMap
  kIpc,         // cuIpcOpenMemHandle
  kImported,    // cuMemPoolImportPointer, cuExternalMemoryGetMappedBuffer
  kGlobal,      // a variable of a module; accounted with it
};

struct Allocation {
  MemoryKind kind = MemoryKind::kDevice;
  uint64_t address = 0;
  uint64_t size = 0;                                       // as it was asked for
  int device = -1;                                         // -1: host
  Context* context = nullptr;                              // with which it ends; null: with none
  std::shared_ptr<Pool> pool = nullptr;                    // of kPool
  std::shared_ptr<PhysicalAllocation> physical = nullptr;  // of kMapping
  uint64_t offset = 0;                                     // within `physical`
  unsigned flags = 0;
  unsigned access = 3;  // CUmemAccess_flags
  int references = 1;   // of kIpc
  uint64_t id = 0;      // never used again, as addresses are
  bool sync_memops = false;
  // What is unmapped with it, where that is not the business of a heap.
  uint64_t mapped_at = 0;
  uint64_t mapped_size = 0;

  bool on_host() const { return kind == MemoryKind::kPinned || kind == MemoryKind::kRegistered; }
};

// Not thread-safe: used under the driver's lock.
class AllocationTable {
 public:
  // Gives it an id and tells the ledger.
  Allocation* Add(Allocation allocation);

  // What begins at the address; null if nothing does.
  Allocation* At(uint64_t address);
  // What the address lies in; null if in nothing.
  Allocation* Containing(uint64_t address);
  // What overlaps [address, address + size), in order of addresses.
  std::vector<Allocation*> Overlapping(uint64_t address, uint64_t size);
  // What ends with the context.
  std::vector<Allocation*> OfContext(const Context* context);

  // Tells the ledger. Does nothing to the memory.
  void Remove(const Allocation& allocation);

 private:
  std::map<uint64_t, Allocation> by_address_;
};

// The word of the ledger.
const char* KindName(MemoryKind kind);

// Gives the memory back and removes it from the table. Waits for nothing.
void Release(Allocation* allocation);

}  // namespace gputrace::sim

#endif  // GPUTRACE_SIMULATOR_DRIVER_ALLOCATION_H_

// SPDX-License-Identifier: Apache-2.0
// The state of the stand-in: all that the driver knows, under one lock.
#ifndef GPUTRACE_SIMULATOR_DRIVER_DRIVER_H_
#define GPUTRACE_SIMULATOR_DRIVER_DRIVER_H_

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "simulator/driver/allocation.h"
#include "simulator/driver/handle_table.h"
#include "simulator/driver/ledger.h"
#include "simulator/driver/objects.h"

namespace gputrace::sim {

struct Array;
struct GraphExec;
struct Library;
struct Module;
struct GreenContext;
struct PhysicalAllocation;
struct Pool;

struct Driver {
  std::mutex mutex;
  std::atomic<bool> initialized = false;
  bool inherited = false;  // this process was forked from one that had called cuInit

  std::vector<std::unique_ptr<Device>> devices;
  HandleTable<Context, CUcontext> contexts;  // those made by cuCtxCreate, and primary ones
  HandleTable<Stream, CUstream> streams;
  HandleTable<Event, CUevent> events;
  HandleTable<Pool, CUmemoryPool> pools;
  HandleTable<Array, CUarray> arrays;
  HandleTable<Array, CUmipmappedArray> mipmaps;
  HandleTable<Module, CUmodule> modules;
  HandleTable<Library, CUlibrary> libraries;
  HandleTable<Graph, CUgraph> graphs;
  HandleTable<GraphExec, CUgraphExec> graph_execs;
  HandleTable<GreenContext, CUgreenCtx> green_contexts;
  HandleTable<PhysicalAllocation, CUmemGenericAllocationHandle> physical;

  AllocationTable allocations;
  std::map<uint64_t, DeviceSegment>
      segments;  // of device memory that is mapped for heaps, by address
  std::map<uint64_t, uint64_t> reservations;  // of address space: size by address
  std::unique_ptr<PhysicalMemory>
      host_memory;                  // of cuMemCreate on the host, made when it is needed
  std::shared_ptr<Pool> host_pool;  // of memory pools that are located on the host

  Ledger ledger;
  uint64_t next_id = 1;  // for whatever has to be unique
};

// Never destroyed: programs call the driver from static destructors.
Driver& TheDriver();

// Holds the driver's lock.
class Guard {
 public:
  Guard() { TheDriver().mutex.lock(); }
  ~Guard() { TheDriver().mutex.unlock(); }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
};

// Returns from the calling function unless `expression` is CUDA_SUCCESS.
#define GPUSIM_TRY(expression)                               \
  do {                                                       \
    const CUresult gpusim_result = (expression);             \
    if (gpusim_result != CUDA_SUCCESS) return gpusim_result; \
  } while (false)

// The device of an ordinal, or CUDA_ERROR_INVALID_DEVICE.
CUresult FindDevice(CUdevice ordinal, Device** device);

}  // namespace gputrace::sim

#endif  // GPUTRACE_SIMULATOR_DRIVER_DRIVER_H_

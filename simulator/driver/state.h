// SPDX-License-Identifier: Apache-2.0
// What the stand-in driver knows: devices, contexts, memory. One instance per process, behind one lock.
//
// This is the ground truth that the tracer is tested against, and so it shares no code with the tracer
// or the analyzer and takes nothing but names and signatures from the driver table.
#ifndef GPUTRACE_SIMULATOR_DRIVER_STATE_H_
#define GPUTRACE_SIMULATOR_DRIVER_STATE_H_

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "simulator/driver/config.h"

namespace gputrace::sim {

inline constexpr size_t kMiB = size_t{1} << 20;
inline constexpr size_t kGranularity = 2 * kMiB;  // in which devices hand out physical memory
inline constexpr size_t kAlignment = 512;         // of device addresses

constexpr size_t RoundUp(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }

// Handles are pointers to these. They are never deleted, so that a stale handle can be recognised.
struct Context {
  int device = 0;
  bool primary = false;
  bool alive = false;
  int references = 0;
};
struct Stream {
  Context* context = nullptr;
  unsigned flags = 0;
  int priority = 0;
  bool alive = true;
  uint64_t capture_id = 0;  // 0: not capturing
  CUgraph captured = nullptr;
};
struct Event {
  Context* context = nullptr;
  bool alive = true;
  uint64_t capture_id = 0;  // of the stream that recorded it
};
struct Module {
  Context* context = nullptr;
  bool alive = true;
  bool library = false;
  std::map<std::string, CUdeviceptr> globals;
};

// A range of free memory, by start.
using FreeRanges = std::map<uint64_t, size_t>;

struct Pool {
  int device = 0;
  CUmemAllocationType type = CU_MEM_ALLOCATION_TYPE_PINNED;
  CUmemLocationType location = CU_MEM_LOCATION_TYPE_DEVICE;
  bool alive = true;
  bool is_default = false;
  uint64_t release_threshold = 0;
  uint64_t reserved = 0;
  uint64_t reserved_high = 0;
  uint64_t used = 0;
  uint64_t used_high = 0;
  int reuse_flags[4] = {0, 1, 1, 1};  // by attribute 1 to 3
  std::map<uint64_t, size_t> segments;
  FreeRanges free;
  struct Pending {  // freed in stream order; not yet reusable by others
    Stream* stream;
    uint64_t address;
    size_t size;
  };
  std::vector<Pending> pending;
};

enum class MemoryKind { kDevice, kManaged, kPinned, kRegistered, kPool, kReservedVa, kGraph };

struct Allocation {
  MemoryKind kind = MemoryKind::kDevice;
  uint64_t address = 0;
  size_t size = 0;      // as requested
  size_t reserved = 0;  // as taken from the device or the host
  int device = 0;
  Context* context = nullptr;
  Pool* pool = nullptr;
  unsigned flags = 0;
};

// Physical memory of cuMemCreate.
struct Physical {
  size_t size = 0;
  int device = -1;  // -1: host memory
  CUmemAllocationProp properties{};
  int references = 1;  // of handles
  int mappings = 0;
  int exports = 0;
  int file = -1;       // memfd
  bool alive = true;
};
struct Mapping {
  uint64_t address = 0;
  size_t size = 0;
  Physical* physical = nullptr;
};

struct Array {
  Context* context = nullptr;
  CUDA_ARRAY3D_DESCRIPTOR descriptor{};
  size_t size = 0;
  unsigned levels = 0;  // 0: not a mipmap
  bool alive = true;
};

struct Device {
  size_t total = 0;
  size_t used = 0;  // physical, contexts' own memory included
  FreeRanges slab_free;  // small device allocations share slabs of kGranularity
  std::map<uint64_t, size_t> slabs;
  Context primary;
  Pool default_pool;
  Pool* current_pool = nullptr;
  uint64_t graph_used = 0;
  uint64_t graph_used_high = 0;
};

struct State {
  std::recursive_mutex lock;
  Config config;
  bool initialised = false;
  std::vector<Device> devices;
  std::map<uint64_t, Allocation> allocations;  // by address
  std::map<uint64_t, Mapping> mappings;
  std::vector<Physical*> physicals;
  std::vector<Array*> arrays;
  std::vector<Module*> modules;
  std::vector<Pool*> pools;
  std::vector<Context*> contexts;  // created ones, not primary
  uint64_t next_capture_id = 1;
};

// Never destroyed: programs call the driver from their own destructors.
State& state();

// Held for the whole of a call that touches the state.
class Locked {
 public:
  Locked() : guard_(state().lock) {}

 private:
  std::lock_guard<std::recursive_mutex> guard_;
};

// The calling thread's current context, or null.
Context* CurrentContext();
// CUDA_ERROR_NOT_INITIALIZED or CUDA_ERROR_INVALID_CONTEXT, or success with *context set.
CUresult NeedContext(Context** context);
bool IsDevice(int ordinal);
// Null for the default streams; *valid is false for what is no stream.
Stream* ToStream(CUstream handle, bool* valid);

// Takes physical memory from a device, or CUDA_ERROR_OUT_OF_MEMORY.
CUresult TakePhysical(int device, size_t bytes);
void ReturnPhysical(int device, size_t bytes);

// Address space with memory behind it on demand; 0 if there is none.
uint64_t MapMemory(size_t bytes);
void UnmapMemory(uint64_t address, size_t bytes);

// The allocation that holds `address`, or null.
Allocation* FindAllocation(uint64_t address);

// First fit in `free`; 0 if nothing fits.
uint64_t TakeRange(FreeRanges* free, size_t bytes);
// Puts a range back and joins it with its neighbours.
void ReturnRange(FreeRanges* free, uint64_t address, size_t bytes);

// Frees whatever kind it is. Does not check anything.
void FreeAllocation(Allocation* allocation, const char* call);
// What ends with a context: its allocations but pool blocks, its arrays and modules.
void FreeContextMemory(Context* context, const char* call);
// Makes stream-ordered frees of `stream` (all streams if null) reusable and gives unused memory back.
void SynchronizePools(Stream* stream);

}  // namespace gputrace::sim

#endif  // GPUTRACE_SIMULATOR_DRIVER_STATE_H_

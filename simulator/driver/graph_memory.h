// SPDX-License-Identifier: Apache-2.0
// Memory that graphs allocate: addresses are fixed when the node is made, memory comes with a
// launch and stays reserved for the device's graphs until it is trimmed.
#ifndef GPUTRACE_SIMULATOR_DRIVER_GRAPH_MEMORY_H_
#define GPUTRACE_SIMULATOR_DRIVER_GRAPH_MEMORY_H_

#include <cstdint>
#include <memory>

#include "simulator/driver/driver.h"

namespace gputrace::sim {

struct GraphMemory {
  uint64_t address = 0;
  uint64_t size = 0;      // as it was asked for
  uint64_t reserved = 0;  // in granules
  int device = 0;
  bool backed = false;  // memory is there
  bool live = false;    // allocated by a launch and not freed since
  uint64_t offset = 0;  // within the device's memory, if backed

  ~GraphMemory();
};

// Reserves addresses; null if there are none left.
std::shared_ptr<GraphMemory> MakeGraphMemory(int device, uint64_t size);

// What a launch does for an allocation node.
CUresult AllocateGraphMemory(const std::shared_ptr<GraphMemory>& memory);

// What frees of such memory do, in whatever way; `allocation` is of MemoryKind::kGraph.
void FreeGraphMemory(const Allocation& allocation);

// Gives back what no live allocation needs.
void TrimGraphMemory(Device* device);

}  // namespace gputrace::sim

#endif  // GPUTRACE_SIMULATOR_DRIVER_GRAPH_MEMORY_H_

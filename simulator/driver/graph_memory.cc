// SPDX-License-Identifier: Apache-2.0
#include "simulator/driver/graph_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <map>

#include "simulator/driver/physical_memory.h"

namespace gputrace::sim {
namespace {

// By address. Allocations outlive their graphs while they are live.
std::map<uint64_t, std::weak_ptr<GraphMemory>>& Known() {
  static auto* instance = new std::map<uint64_t, std::weak_ptr<GraphMemory>>;
  return *instance;
}
std::map<uint64_t, std::shared_ptr<GraphMemory>>& Live() {
  static auto* instance = new std::map<uint64_t, std::shared_ptr<GraphMemory>>;
  return *instance;
}

Device& DeviceOf(const GraphMemory& memory) {
  return *TheDriver().devices[static_cast<size_t>(memory.device)];
}

CUresult Back(GraphMemory* memory) {
  Device& device = DeviceOf(*memory);
  if (!device.Charge(memory->reserved)) return CUDA_ERROR_OUT_OF_MEMORY;
  const auto offset = device.memory->Take(memory->reserved);
  if (!offset ||
      device.memory->Map(*offset, memory->reserved, PROT_READ | PROT_WRITE, memory->address) == 0) {
    device.Discharge(memory->reserved);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  memory->offset = *offset;
  memory->backed = true;
  device.graph_reserved += memory->reserved;
  device.graph_reserved_high = std::max(device.graph_reserved_high, device.graph_reserved);
  return CUDA_SUCCESS;
}

void Unback(GraphMemory* memory) {
  if (!memory->backed) return;
  Device& device = DeviceOf(*memory);
  DetachMemory(memory->address, memory->reserved);
  device.memory->Return(memory->offset, memory->reserved);
  device.Discharge(memory->reserved);
  device.graph_reserved -= memory->reserved;
  memory->backed = false;
}

}  // namespace

GraphMemory::~GraphMemory() {
  Unback(this);
  ReleaseAddresses(address, reserved);
}

std::shared_ptr<GraphMemory> MakeGraphMemory(int device, uint64_t size) {
  auto memory = std::make_shared<GraphMemory>();
  memory->size = size;
  memory->reserved = RoundUp(size, kGranularity);
  memory->device = device;
  memory->address = ReserveAddresses(memory->reserved, kGranularity, 0);
  if (memory->address == 0) return nullptr;
  Known()[memory->address] = memory;
  return memory;
}

CUresult AllocateGraphMemory(const std::shared_ptr<GraphMemory>& memory) {
  // A launch while the last one's memory is still alive (header of cuGraphLaunch).
  if (memory->live) return CUDA_ERROR_INVALID_VALUE;
  if (!memory->backed) GPUSIM_TRY(Back(memory.get()));
  memory->live = true;
  Live()[memory->address] = memory;
  Device& device = DeviceOf(*memory);
  device.graph_used += memory->reserved;
  device.graph_used_high = std::max(device.graph_used_high, device.graph_used);
  TheDriver().allocations.Add({.kind = MemoryKind::kGraph,
                               .address = memory->address,
                               .size = memory->size,
                               .device = memory->device});
  return CUDA_SUCCESS;
}

void FreeGraphMemory(const Allocation& allocation) {
  const auto found = Live().find(allocation.address);
  if (found == Live().end()) return;
  found->second->live = false;
  DeviceOf(*found->second).graph_used -= found->second->reserved;
  Live().erase(found);
}

void TrimGraphMemory(Device* device) {
  for (const auto& [address, weak] : Known()) {
    const auto memory = weak.lock();
    if (memory != nullptr && memory->device == device->ordinal && !memory->live)
      Unback(memory.get());
  }
  std::erase_if(Known(), [](const auto& known) { return known.second.expired(); });
}

}  // namespace gputrace::sim

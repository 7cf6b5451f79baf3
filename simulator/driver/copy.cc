// SPDX-License-Identifier: Apache-2.0
#include "simulator/driver/copy.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "simulator/driver/array.h"
#include "simulator/driver/physical_memory.h"

namespace gputrace::sim {
namespace {

unsigned NeededAccess(Use use) {
  return use == Use::kRead ? CU_MEM_ACCESS_FLAGS_PROT_READ : CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
}

// One side of a copy.
struct Side {
  CUmemorytype type;
  const void* host;
  CUdeviceptr device;
  CUarray array;
  uint64_t x;
  uint64_t y;
  uint64_t z;
  uint64_t pitch;
  uint64_t height;
};

// Bytes from the first to behind the last of a box.
uint64_t Extent(uint64_t pitch, uint64_t plane, uint64_t width, uint64_t height, uint64_t depth) {
  return (depth - 1) * plane + (height - 1) * pitch + width;
}

CUresult PlanSide(const Side& side, Use use, uint64_t width, uint64_t height, uint64_t depth,
                  uint64_t* address, uint64_t* pitch, uint64_t* plane) {
  uint64_t base = 0;
  *pitch = side.pitch != 0 ? side.pitch : width;
  uint64_t rows = side.height != 0 ? side.height : height;
  if (side.type == CU_MEMORYTYPE_ARRAY) {
    const auto array = TheDriver().arrays.Find(side.array);
    if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    base = array->address;
    *pitch = array->descriptor.Width * array->element_size;
    rows = std::max<size_t>(array->descriptor.Height, 1);
    const uint64_t planes = std::max<size_t>(array->descriptor.Depth, 1);
    if (base == 0 || side.x + width > *pitch || side.y + height > rows || side.z + depth > planes) {
      return CUDA_ERROR_INVALID_VALUE;
    }
  } else {
    base = side.type == CU_MEMORYTYPE_HOST ? reinterpret_cast<uint64_t>(side.host) : side.device;
    if (base == 0 || *pitch < width || rows < height) return CUDA_ERROR_INVALID_VALUE;
  }
  *plane = *pitch * rows;
  *address = base + side.z * *plane + side.y * *pitch + side.x;
  const uint64_t extent = Extent(*pitch, *plane, width, height, depth);
  if (side.type == CU_MEMORYTYPE_DEVICE && !IsDriverMemory(*address, extent, use)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (side.type == CU_MEMORYTYPE_UNIFIED && !IsAnyMemory(*address, extent, use)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return side.type < CU_MEMORYTYPE_HOST || side.type > CU_MEMORYTYPE_UNIFIED
             ? CUDA_ERROR_INVALID_VALUE
             : CUDA_SUCCESS;
}

template <typename Value>
void FillRow(uint64_t address, Value value, uint64_t count) {
  std::fill_n(reinterpret_cast<Value*>(address), count, value);
}

}  // namespace

bool IsDriverMemory(uint64_t address, uint64_t size, Use use) {
  if (size == 0) return true;
  const unsigned needed = NeededAccess(use);
  while (true) {
    const Allocation* allocation = TheDriver().allocations.Containing(address);
    if (allocation == nullptr || (allocation->access & needed) != needed) return false;
    const uint64_t rest = allocation->address + allocation->size - address;
    if (size <= rest) return true;
    if (allocation->kind != MemoryKind::kMapping) return false;
    address += rest;
    size -= rest;
  }
}

bool IsAnyMemory(uint64_t address, uint64_t size, Use use) {
  if (size == 0 || IsDriverMemory(address, size, use)) return true;
  if (address == 0) return false;
  for (const Allocation* allocation : TheDriver().allocations.Overlapping(address, size)) {
    // Registered memory is ordinary memory; copies may go past its ends.
    if (allocation->kind != MemoryKind::kRegistered) return false;
  }
  const auto after = TheDriver().reservations.upper_bound(address);
  if (after == TheDriver().reservations.begin()) return true;
  const auto& [start, length] = *std::prev(after);
  return address >= start + length;
}

void Run(const CopyPlan& plan) {
  // Its addresses may be null then, which memmove must not be given even for nothing.
  if (plan.width == 0) return;
  const bool dense = plan.source_pitch == plan.width && plan.destination_pitch == plan.width;
  if (plan.depth == 1 && (plan.height == 1 || dense)) {
    memmove(reinterpret_cast<void*>(plan.destination), reinterpret_cast<void*>(plan.source),
            plan.width * plan.height);
    return;
  }
  for (uint64_t z = 0; z < plan.depth; ++z) {
    for (uint64_t y = 0; y < plan.height; ++y) {
      memmove(reinterpret_cast<void*>(plan.destination + z * plan.destination_plane +
                                      y * plan.destination_pitch),
              reinterpret_cast<void*>(plan.source + z * plan.source_plane + y * plan.source_pitch),
              plan.width);
    }
  }
}

CUresult PlanCopy(const CUDA_MEMCPY3D& p, CopyPlan* plan) {
  plan->width = p.WidthInBytes;
  plan->height = p.Height;
  plan->depth = p.Depth;
  if (p.WidthInBytes == 0 || p.Height == 0 || p.Depth == 0) {
    *plan = {};
    return CUDA_SUCCESS;
  }
  const Side source = {p.srcMemoryType, p.srcHost, p.srcDevice, p.srcArray, p.srcXInBytes,
                       p.srcY,          p.srcZ,    p.srcPitch,  p.srcHeight};
  const Side destination = {p.dstMemoryType, p.dstHost, p.dstDevice, p.dstArray, p.dstXInBytes,
                            p.dstY,          p.dstZ,    p.dstPitch,  p.dstHeight};
  GPUSIM_TRY(PlanSide(source, Use::kRead, p.WidthInBytes, p.Height, p.Depth, &plan->source,
                      &plan->source_pitch, &plan->source_plane));
  return PlanSide(destination, Use::kWrite, p.WidthInBytes, p.Height, p.Depth, &plan->destination,
                  &plan->destination_pitch, &plan->destination_plane);
}

void Run(const FillPlan& plan) {
  if (plan.width == 0) return;
  for (uint64_t y = 0; y < plan.height; ++y) {
    const uint64_t row = plan.address + y * plan.pitch;
    if (plan.value == 0) {
      ZeroFill(row, plan.width * plan.element_size, plan.anonymous);
    } else if (plan.element_size == 1) {
      FillRow(row, static_cast<uint8_t>(plan.value), plan.width);
    } else if (plan.element_size == 2) {
      FillRow(row, static_cast<uint16_t>(plan.value), plan.width);
    } else {
      FillRow(row, static_cast<uint32_t>(plan.value), plan.width);
    }
  }
}

CUresult PlanFill(const CUDA_MEMSET_NODE_PARAMS& p, FillPlan* plan) {
  if (p.elementSize != 1 && p.elementSize != 2 && p.elementSize != 4)
    return CUDA_ERROR_INVALID_VALUE;
  if (p.dst % p.elementSize != 0) return CUDA_ERROR_INVALID_VALUE;
  if (p.width > std::numeric_limits<uint64_t>::max() / 4) return CUDA_ERROR_INVALID_VALUE;
  const uint64_t width = p.width * p.elementSize;
  if (p.width == 0 || p.height == 0) {
    *plan = {};
    return CUDA_SUCCESS;
  }
  if (p.height > 1 && (p.pitch < width || p.pitch % p.elementSize != 0))
    return CUDA_ERROR_INVALID_VALUE;
  if (!IsDriverMemory(p.dst, (p.height - 1) * p.pitch + width, Use::kWrite))
    return CUDA_ERROR_INVALID_VALUE;
  const Allocation& allocation = *TheDriver().allocations.Containing(p.dst);
  plan->address = p.dst;
  plan->pitch = p.pitch;
  plan->value = p.value;
  plan->element_size = p.elementSize;
  plan->width = p.width;
  plan->height = p.height;
  plan->anonymous =
      allocation.kind == MemoryKind::kManaged || allocation.kind == MemoryKind::kPinned;
  // Whole rows that touch are one.
  if (plan->pitch == width) {
    plan->width *= plan->height;
    plan->height = 1;
  }
  return CUDA_SUCCESS;
}

}  // namespace gputrace::sim

// SPDX-License-Identifier: Apache-2.0
// Pinned and registered host memory.
#include "bodies.h"
#include "simulator/driver/context.h"

namespace gputrace::sim {
namespace {

constexpr unsigned kHostAllocFlags =
    CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
constexpr unsigned kRegisterFlags = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
                                    CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY;

CUresult AllocateHost(void** pp, size_t size, unsigned flags) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(CurrentContext(&context));
  if (pp == nullptr || size == 0 || (flags & ~kHostAllocFlags) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  const uint64_t address = context->host_heap->Allocate(size);
  if (address == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  TheDriver().allocations.Add({.kind = MemoryKind::kPinned,
                               .address = address,
                               .size = size,
                               .context = context,
                               .flags = flags});
  *pp = reinterpret_cast<void*>(address);
  return CUDA_SUCCESS;
}

CUresult RegisterHost(void* p, size_t size, unsigned flags) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(CurrentContext(&context));
  const auto address = reinterpret_cast<uint64_t>(p);
  if (p == nullptr || size == 0 || address + size < address) return CUDA_ERROR_INVALID_VALUE;
  if ((flags & ~kRegisterFlags) != 0) return CUDA_ERROR_INVALID_VALUE;
  if (!TheDriver().allocations.Overlapping(address, size).empty()) {
    return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  }
  TheDriver().allocations.Add({.kind = MemoryKind::kRegistered,
                               .address = address,
                               .size = size,
                               .context = context,
                               .flags = flags});
  return CUDA_SUCCESS;
}

// The host allocation that a host pointer lies in; null: none.
const Allocation* HostAllocation(const void* p) {
  const Allocation* found = TheDriver().allocations.Containing(reinterpret_cast<uint64_t>(p));
  return found != nullptr && found->on_host() ? found : nullptr;
}

}  // namespace

extern "C" {

CUresult gpusim_cuMemHostAlloc(void** pp, size_t bytesize, unsigned Flags) {
  return AllocateHost(pp, bytesize, Flags);
}
CUresult gpusim_cuMemAllocHost_v2(void** pp, size_t bytesize) {
  return AllocateHost(pp, bytesize, 0);
}

CUresult gpusim_cuMemFreeHost(void* p) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(CurrentContext(&context));
  const auto address = reinterpret_cast<uint64_t>(p);
  const auto find = [address] {
    Allocation* found = TheDriver().allocations.At(address);
    return found != nullptr && found->kind == MemoryKind::kPinned ? found : nullptr;
  };
  if (find() == nullptr) return CUDA_ERROR_INVALID_VALUE;
  SynchronizeContext(context);
  Allocation* allocation = find();
  if (allocation == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Release(allocation);
  return CUDA_SUCCESS;
}

CUresult gpusim_cuMemHostRegister(void* p, size_t bytesize, unsigned Flags) {
  return RegisterHost(p, bytesize, Flags);
}
CUresult gpusim_cuMemHostRegister_v2(void* p, size_t bytesize, unsigned Flags) {
  return RegisterHost(p, bytesize, Flags);
}

CUresult gpusim_cuMemHostUnregister(void* p) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(CurrentContext(&context));
  if (p == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Allocation* allocation = TheDriver().allocations.At(reinterpret_cast<uint64_t>(p));
  if (allocation == nullptr || allocation->kind != MemoryKind::kRegistered) {
    return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  }
  Release(allocation);
  return CUDA_SUCCESS;
}

CUresult gpusim_cuMemHostGetDevicePointer_v2(CUdeviceptr* pdptr, void* p, unsigned Flags) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(CurrentContext(&context));
  if (pdptr == nullptr || Flags != 0 || HostAllocation(p) == nullptr)
    return CUDA_ERROR_INVALID_VALUE;
  *pdptr = reinterpret_cast<CUdeviceptr>(p);
  return CUDA_SUCCESS;
}

CUresult gpusim_cuMemHostGetFlags(unsigned* pFlags, void* p) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(CurrentContext(&context));
  const Allocation* allocation = HostAllocation(p);
  if (pFlags == nullptr || allocation == nullptr) return CUDA_ERROR_INVALID_VALUE;
  // All pinned memory is mapped and portable with unified addressing (header).
  *pFlags = allocation->flags | CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP;
  return CUDA_SUCCESS;
}

}  // extern "C"

}  // namespace gputrace::sim

// SPDX-License-Identifier: Apache-2.0
// cuMemAlloc and its like: memory of a device, and managed memory, that belongs to a context.
#include "bodies.h"
#include "simulator/driver/context.h"
#include "simulator/driver/physical_memory.h"
#include "simulator/driver/stream.h"

namespace gputrace::sim {
namespace {

// The pitch that textures can be bound to: CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT.
constexpr uint64_t kPitchAlignment = 512;

CUresult Allocate(Context* context, uint64_t size, CUdeviceptr* address) {
  *address = context->device_heap->Allocate(size);
  if (*address == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  TheDriver().allocations.Add({.kind = MemoryKind::kDevice,
                               .address = *address,
                               .size = size,
                               .device = context->device,
                               .context = context});
  return CUDA_SUCCESS;
}

bool CanFree(const Allocation& allocation) {
  switch (allocation.kind) {
    case MemoryKind::kDevice:
    case MemoryKind::kManaged:
    case MemoryKind::kPool:
    case MemoryKind::kGraph:
    case MemoryKind::kImported:
      return true;
    default:
      return false;
  }
}

}  // namespace

extern "C" {

CUresult gpusim_cuMemAlloc_v2(CUdeviceptr* dptr, size_t bytesize) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(CurrentContext(&context));
  GPUSIM_TRY(CheckUnsafeCall());
  if (dptr == nullptr || bytesize == 0) return CUDA_ERROR_INVALID_VALUE;
  return Allocate(context, bytesize, dptr);
}

CUresult gpusim_cuMemAllocPitch_v2(CUdeviceptr* dptr, size_t* pPitch, size_t WidthInBytes,
                                   size_t Height, unsigned ElementSizeBytes) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(CurrentContext(&context));
  GPUSIM_TRY(CheckUnsafeCall());
  if (dptr == nullptr || pPitch == nullptr || WidthInBytes == 0 || Height == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (ElementSizeBytes != 4 && ElementSizeBytes != 8 && ElementSizeBytes != 16) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const uint64_t pitch = RoundUp(WidthInBytes, kPitchAlignment);
  uint64_t size = 0;
  if (pitch < WidthInBytes || __builtin_mul_overflow(pitch, Height, &size)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  GPUSIM_TRY(Allocate(context, size, dptr));
  *pPitch = pitch;
  return CUDA_SUCCESS;
}

// Pages of managed memory are where they are used; no kernel uses any here, so the card has none of
// them.
CUresult gpusim_cuMemAllocManaged(CUdeviceptr* dptr, size_t bytesize, unsigned flags) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(CurrentContext(&context));
  GPUSIM_TRY(CheckUnsafeCall());
  if (dptr == nullptr || bytesize == 0) return CUDA_ERROR_INVALID_VALUE;
  if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST) return CUDA_ERROR_INVALID_VALUE;
  const uint64_t mapped_size = RoundUp(bytesize, kGranularity);
  const uint64_t address = mapped_size < bytesize ? 0 : MapAnonymous(mapped_size);
  if (address == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  TheDriver().allocations.Add({.kind = MemoryKind::kManaged,
                               .address = address,
                               .size = bytesize,
                               .device = context->device,
                               .context = context,
                               .flags = flags,
                               .mapped_at = address,
                               .mapped_size = mapped_size});
  *dptr = address;
  return CUDA_SUCCESS;
}

CUresult gpusim_cuMemFree_v2(CUdeviceptr dptr) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(CurrentContext(&context));
  GPUSIM_TRY(CheckUnsafeCall());
  if (dptr == 0) return CUDA_SUCCESS;
  Allocation* allocation = TheDriver().allocations.At(dptr);
  if (allocation == nullptr || !CanFree(*allocation)) return CUDA_ERROR_INVALID_VALUE;
  // Work that uses the memory ends first. Another thread may free it meanwhile.
  SynchronizeContext(context);
  allocation = TheDriver().allocations.At(dptr);
  if (allocation == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Release(allocation);
  return CUDA_SUCCESS;
}

CUresult gpusim_cuMemGetInfo_v2(size_t* free, size_t* total) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(CurrentContext(&context));
  const Device& device = *TheDriver().devices[static_cast<size_t>(context->device)];
  if (free != nullptr) *free = device.Free();
  if (total != nullptr) *total = device.total;
  return CUDA_SUCCESS;
}

CUresult gpusim_cuMemGetAddressRange_v2(CUdeviceptr* pbase, size_t* psize, CUdeviceptr dptr) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(CurrentContext(&context));
  const Allocation* allocation = TheDriver().allocations.Containing(dptr);
  if (allocation == nullptr) return CUDA_ERROR_NOT_FOUND;
  if (pbase != nullptr) *pbase = allocation->address;
  if (psize != nullptr) *psize = allocation->size;
  return CUDA_SUCCESS;
}

}  // extern "C"

}  // namespace gputrace::sim

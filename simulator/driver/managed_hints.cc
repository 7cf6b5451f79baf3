// SPDX-License-Identifier: Apache-2.0
// Hints on managed memory: taken note of nowhere, but checked. Pages are where the host is.
#include <cstring>

#include "bodies.h"
#include "simulator/driver/copy.h"
#include "simulator/driver/vmm.h"

namespace gputrace::sim {
namespace {

bool IsManaged(CUdeviceptr address, size_t size) {
  const Allocation* allocation = TheDriver().allocations.Containing(address);
  return allocation != nullptr && allocation->kind == MemoryKind::kManaged &&
         address + size <= allocation->address + allocation->size;
}

CUresult Prefetch(CUdeviceptr address, size_t size, const CUmemLocation& location,
                  CUstream handle) {
  const Guard guard;
  std::shared_ptr<Stream> stream;
  GPUSIM_TRY(FindStream(handle, &stream));
  int device = -1;
  GPUSIM_TRY(PhysicalDevice(location, &device));
  return IsManaged(address, size) && size > 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult Advise(CUdeviceptr address, size_t size, const CUmemLocation& location) {
  const Guard guard;
  int device = -1;
  GPUSIM_TRY(PhysicalDevice(location, &device));
  return IsManaged(address, size) && size > 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// The older entries name a device, or the host as CU_DEVICE_CPU.
CUmemLocation LocationOf(CUdevice device) {
  if (device == CU_DEVICE_CPU) return {CU_MEM_LOCATION_TYPE_HOST, {0}};
  return {CU_MEM_LOCATION_TYPE_DEVICE, {device}};
}

CUresult PrefetchBatch(CUdeviceptr* addresses, size_t* sizes, size_t count,
                       CUmemLocation* locations, size_t* indices, size_t location_count,
                       CUstream stream) {
  if (addresses == nullptr || sizes == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  if (locations == nullptr || indices == nullptr || location_count == 0)
    return CUDA_ERROR_INVALID_VALUE;
  size_t location = 0;
  for (size_t i = 0; i < count; ++i) {
    while (location + 1 < location_count && indices[location + 1] <= i) ++location;
    GPUSIM_TRY(Prefetch(addresses[i], sizes[i], locations[location], stream));
  }
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult gpusim_cuMemPrefetchAsync(CUdeviceptr devPtr, size_t count, CUdevice dstDevice,
                                   CUstream hStream) {
  return Prefetch(devPtr, count, LocationOf(dstDevice), hStream);
}
CUresult gpusim_cuMemPrefetchAsync_v2(CUdeviceptr devPtr, size_t count, CUmemLocation location,
                                      unsigned, CUstream hStream) {
  return Prefetch(devPtr, count, location, hStream);
}
CUresult gpusim_cuMemPrefetchBatchAsync(CUdeviceptr* dptrs, size_t* sizes, size_t count,
                                        CUmemLocation* prefetchLocs, size_t* prefetchLocIdxs,
                                        size_t numPrefetchLocs, unsigned long long,
                                        CUstream hStream) {
  return PrefetchBatch(dptrs, sizes, count, prefetchLocs, prefetchLocIdxs, numPrefetchLocs,
                       hStream);
}
CUresult gpusim_cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr* dptrs, size_t* sizes, size_t count,
                                                  CUmemLocation* prefetchLocs,
                                                  size_t* prefetchLocIdxs, size_t numPrefetchLocs,
                                                  unsigned long long, CUstream hStream) {
  return PrefetchBatch(dptrs, sizes, count, prefetchLocs, prefetchLocIdxs, numPrefetchLocs,
                       hStream);
}
CUresult gpusim_cuMemDiscardBatchAsync(CUdeviceptr* dptrs, size_t* sizes, size_t count,
                                       unsigned long long, CUstream hStream) {
  if (dptrs == nullptr || sizes == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < count; ++i) {
    GPUSIM_TRY(Prefetch(dptrs[i], sizes[i], {CU_MEM_LOCATION_TYPE_HOST, {0}}, hStream));
  }
  return CUDA_SUCCESS;
}

CUresult gpusim_cuMemAdvise(CUdeviceptr devPtr, size_t count, CUmem_advise, CUdevice device) {
  return Advise(devPtr, count, LocationOf(device));
}
CUresult gpusim_cuMemAdvise_v2(CUdeviceptr devPtr, size_t count, CUmem_advise,
                               CUmemLocation location) {
  // The location does not matter for some advice and may be empty then.
  if (location.type == CU_MEM_LOCATION_TYPE_INVALID) location = {CU_MEM_LOCATION_TYPE_HOST, {0}};
  return Advise(devPtr, count, location);
}

// Nothing has been advised or prefetched, as far as it tells.
CUresult gpusim_cuMemRangeGetAttribute(void* data, size_t dataSize, CUmem_range_attribute attribute,
                                       CUdeviceptr devPtr, size_t count) {
  const Guard guard;
  if (data == nullptr || dataSize < sizeof(int) || !IsManaged(devPtr, count)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const bool is_flag = attribute == CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY;
  const int value = is_flag ? 0 : CU_DEVICE_INVALID;
  for (size_t at = 0; at + sizeof(value) <= dataSize; at += sizeof(value)) {
    memcpy(static_cast<char*>(data) + at, &value, sizeof(value));
  }
  return CUDA_SUCCESS;
}

}  // extern "C"

}  // namespace gputrace::sim

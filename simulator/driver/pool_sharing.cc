// SPDX-License-Identifier: Apache-2.0
// Pools, and memory out of them, in other processes.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "bodies.h"
#include "simulator/driver/driver.h"
#include "simulator/driver/pool.h"
#include "simulator/driver/sharing.h"

namespace gputrace::sim {
namespace {

struct PoolTicket {
  SharedPlace place;
  CUmemPoolProps props;
};

static_assert(sizeof(SharedPlace) <= sizeof(CUmemPoolPtrExportData));

}  // namespace

extern "C" {

CUresult gpusim_cuMemPoolExportToShareableHandle(void* handle_out, CUmemoryPool handle,
                                                 CUmemAllocationHandleType handleType,
                                                 unsigned long long flags) {
  const Guard guard;
  const auto pool = TheDriver().pools.Find(handle);
  if (handle_out == nullptr || pool == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
  if ((pool->props.handleTypes & handleType) == 0 || pool->imported || pool->device < 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  PoolTicket ticket = {};
  const Device& device = *TheDriver().devices[static_cast<size_t>(pool->device)];
  ticket.place = PlaceHere(device.memory->file(), device.physical, 0, 0, HandleNumber(handle));
  ticket.props = pool->props;
  const int file = memfd_create("gpusim-pool", MFD_CLOEXEC);
  if (file < 0 || pwrite(file, &ticket, sizeof(ticket), 0) != sizeof(ticket)) {
    return CUDA_ERROR_OPERATING_SYSTEM;
  }
  *static_cast<int*>(handle_out) = file;
  return CUDA_SUCCESS;
}

CUresult gpusim_cuMemPoolImportFromShareableHandle(CUmemoryPool* pool_out, void* handle,
                                                   CUmemAllocationHandleType handleType,
                                                   unsigned long long flags) {
  const Guard guard;
  if (pool_out == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
  PoolTicket ticket = {};
  const int file = static_cast<int>(reinterpret_cast<intptr_t>(handle));
  if (pread(file, &ticket, sizeof(ticket), 0) != sizeof(ticket) ||
      ticket.place.magic != SharedPlace::kMagic) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const auto pool = std::make_shared<Pool>(ticket.props, DeviceOfPlace(ticket.place));
  pool->imported = true;
  *pool_out = TheDriver().pools.Add(pool);
  TheDriver().ledger.Add(
      {.kind = "mempool", .device = pool->device, .handle = HandleNumber(*pool_out)});
  return CUDA_SUCCESS;
}

CUresult gpusim_cuMemPoolExportPointer(CUmemPoolPtrExportData* shareData_out, CUdeviceptr ptr) {
  const Guard guard;
  const Allocation* allocation = TheDriver().allocations.At(ptr);
  if (shareData_out == nullptr || allocation == nullptr || allocation->kind != MemoryKind::kPool) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  SharedPlace place;
  if (!PlaceOf(*allocation, &place)) return CUDA_ERROR_INVALID_VALUE;
  *shareData_out = {};
  memcpy(shareData_out, &place, sizeof(place));
  return CUDA_SUCCESS;
}

CUresult gpusim_cuMemPoolImportPointer(CUdeviceptr* ptr_out, CUmemoryPool handle,
                                       CUmemPoolPtrExportData* shareData) {
  const Guard guard;
  const auto pool = TheDriver().pools.Find(handle);
  if (ptr_out == nullptr || shareData == nullptr || pool == nullptr || !pool->imported) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  SharedPlace place;
  memcpy(static_cast<void*>(&place), shareData, sizeof(place));
  MappedPlace mapped;
  if (!MapPlace(place, &mapped)) return CUDA_ERROR_INVALID_VALUE;
  TheDriver().allocations.Add({.kind = MemoryKind::kImported,
                               .address = mapped.address,
                               .size = place.size,
                               .device = pool->device,
                               .pool = pool,
                               .mapped_at = mapped.mapped_at,
                               .mapped_size = mapped.mapped_size});
  *ptr_out = mapped.address;
  return CUDA_SUCCESS;
}

}  // extern "C"

}  // namespace gputrace::sim

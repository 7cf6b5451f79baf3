// SPDX-License-Identifier: Apache-2.0
// cuIpc…: memory of cuMemAlloc, and events, in other processes.
#include <unistd.h>

#include <cstring>
#include <map>
#include <tuple>

#include "bodies.h"
#include "simulator/driver/context.h"
#include "simulator/driver/sharing.h"

namespace gputrace::sim {
namespace {

// What is open, by what it is and where: the same handle gives the same pointer again (header).
using Opened = std::tuple<const Context*, int32_t, uint64_t>;
std::map<Opened, uint64_t>& OpenedAddresses() {
  static auto* instance = new std::map<Opened, uint64_t>;
  return *instance;
}

// Null if it has been closed, also by the end of its context.
Allocation* FindOpened(const Opened& opened) {
  const auto found = OpenedAddresses().find(opened);
  if (found == OpenedAddresses().end()) return nullptr;
  Allocation* allocation = TheDriver().allocations.At(found->second);
  const bool same = allocation != nullptr && allocation->kind == MemoryKind::kIpc &&
                    allocation->context == std::get<0>(opened);
  return same ? allocation : nullptr;
}

CUresult Open(CUdeviceptr* pdptr, const CUipcMemHandle& handle, unsigned flags) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(CurrentContext(&context));
  if (pdptr == nullptr || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)
    return CUDA_ERROR_INVALID_VALUE;
  SharedPlace place;
  memcpy(static_cast<void*>(&place), &handle, sizeof(place));
  if (place.magic != SharedPlace::kMagic) return CUDA_ERROR_INVALID_VALUE;
  // Not in the process that it comes from. Assumed.
  if (place.process == getpid()) return CUDA_ERROR_INVALID_CONTEXT;
  const Opened opened = {context, place.process, place.id};
  if (Allocation* known = FindOpened(opened)) {
    ++known->references;
    *pdptr = known->address;
    return CUDA_SUCCESS;
  }
  MappedPlace mapped;
  if (!MapPlace(place, &mapped)) return CUDA_ERROR_MAP_FAILED;
  TheDriver().allocations.Add({.kind = MemoryKind::kIpc,
                               .address = mapped.address,
                               .size = place.size,
                               .device = DeviceOfPlace(place),
                               .context = context,
                               .mapped_at = mapped.mapped_at,
                               .mapped_size = mapped.mapped_size});
  OpenedAddresses()[opened] = mapped.address;
  *pdptr = mapped.address;
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult gpusim_cuIpcGetMemHandle(CUipcMemHandle* pHandle, CUdeviceptr dptr) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(CurrentContext(&context));
  const Allocation* allocation = TheDriver().allocations.Containing(dptr);
  if (pHandle == nullptr || allocation == nullptr || allocation->kind != MemoryKind::kDevice) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  SharedPlace place;
  if (!PlaceOf(*allocation, &place)) return CUDA_ERROR_INVALID_VALUE;
  *pHandle = {};
  memcpy(pHandle, &place, sizeof(place));
  return CUDA_SUCCESS;
}

CUresult gpusim_cuIpcOpenMemHandle(CUdeviceptr* pdptr, CUipcMemHandle handle, unsigned Flags) {
  return Open(pdptr, handle, Flags);
}
CUresult gpusim_cuIpcOpenMemHandle_v2(CUdeviceptr* pdptr, CUipcMemHandle handle, unsigned Flags) {
  return Open(pdptr, handle, Flags);
}

CUresult gpusim_cuIpcCloseMemHandle(CUdeviceptr dptr) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(CurrentContext(&context));
  Allocation* allocation = TheDriver().allocations.At(dptr);
  if (allocation == nullptr || allocation->kind != MemoryKind::kIpc)
    return CUDA_ERROR_INVALID_VALUE;
  if (--allocation->references > 0) return CUDA_SUCCESS;
  Release(allocation);
  return CUDA_SUCCESS;
}

// Work of another process is not waited for: an event from there is always done.
CUresult gpusim_cuIpcGetEventHandle(CUipcEventHandle* pHandle, CUevent event) {
  const Guard guard;
  const auto found = TheDriver().events.Find(event);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (pHandle == nullptr || (found->flags & CU_EVENT_INTERPROCESS) == 0)
    return CUDA_ERROR_INVALID_VALUE;
  *pHandle = {};
  const SharedPlace place = PlaceHere(-1, -1, 0, 0, 0);
  memcpy(pHandle, &place, sizeof(place));
  return CUDA_SUCCESS;
}

CUresult gpusim_cuIpcOpenEventHandle(CUevent* phEvent, CUipcEventHandle handle) {
  SharedPlace place;
  memcpy(static_cast<void*>(&place), &handle, sizeof(place));
  if (place.magic != SharedPlace::kMagic) return CUDA_ERROR_INVALID_VALUE;
  return gpusim_cuEventCreate(phEvent, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
}

}  // extern "C"

}  // namespace gputrace::sim

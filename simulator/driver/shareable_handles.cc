// SPDX-License-Identifier: Apache-2.0
// Physical memory handed to other processes as a file descriptor. The descriptor is a small file
// that says where the bytes are, so that it can travel by sendmsg or fork as a real one does.
// Unlike a real one it does not keep the memory alive.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bodies.h"
#include "simulator/driver/sharing.h"
#include "simulator/driver/vmm.h"

namespace gputrace::sim {
namespace {

struct Ticket {
  SharedPlace place;
  CUmemAllocationProp props;
};

int PhysicalNumber(int device) {
  return device < 0 ? -1 : TheDriver().devices[static_cast<size_t>(device)]->physical;
}

// What the ticket names, if it is of this process: a further reference to the same handle.
CUresult ImportOwn(const Ticket& ticket, CUmemGenericAllocationHandle* handle) {
  for (const auto& own : TheDriver().physical.All()) {
    if (own->id != ticket.place.id) continue;
    ++own->references;
    *handle = HandleOf(own.get());
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult ImportForeign(const Ticket& ticket, CUmemGenericAllocationHandle* handle) {
  const auto imported = std::make_shared<PhysicalAllocation>();
  imported->file = OpenPlace(ticket.place);
  if (imported->file < 0) return CUDA_ERROR_INVALID_VALUE;
  imported->props = ticket.props;
  imported->size = ticket.place.size;
  imported->offset = ticket.place.offset;
  imported->device = DeviceOfPlace(ticket.place);
  imported->imported = true;
  *handle = AddPhysical(imported);
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult gpusim_cuMemExportToShareableHandle(void* shareableHandle,
                                             CUmemGenericAllocationHandle handle,
                                             CUmemAllocationHandleType handleType,
                                             unsigned long long flags) {
  const Guard guard;
  const auto allocation = FindPhysical(handle);
  if (shareableHandle == nullptr || allocation == nullptr || flags != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
  // What may be exported has to be said when it is made (header).
  if ((allocation->props.requestedHandleTypes & handleType) == 0 || allocation->imported) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Ticket ticket = {};
  ticket.place = PlaceHere(allocation->file, PhysicalNumber(allocation->device), allocation->offset,
                           allocation->size, allocation->id);
  ticket.props = allocation->props;
  const int file = memfd_create("gpusim-handle", MFD_CLOEXEC);
  if (file < 0) return CUDA_ERROR_OPERATING_SYSTEM;
  if (pwrite(file, &ticket, sizeof(ticket), 0) != sizeof(ticket)) {
    close(file);
    return CUDA_ERROR_OPERATING_SYSTEM;
  }
  allocation->exported = true;
  *static_cast<int*>(shareableHandle) = file;
  return CUDA_SUCCESS;
}

CUresult gpusim_cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* osHandle,
                                               CUmemAllocationHandleType shHandleType) {
  const Guard guard;
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (shHandleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
  const int file = static_cast<int>(reinterpret_cast<intptr_t>(osHandle));
  Ticket ticket = {};
  if (pread(file, &ticket, sizeof(ticket), 0) != sizeof(ticket) ||
      ticket.place.magic != SharedPlace::kMagic) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return ticket.place.process == getpid() ? ImportOwn(ticket, handle)
                                          : ImportForeign(ticket, handle);
}

}  // extern "C"

}  // namespace gputrace::sim

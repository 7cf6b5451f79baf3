// SPDX-License-Identifier: Apache-2.0
// Memory and semaphores of other programming interfaces. A file descriptor that can be mapped is;
// behind others there is memory of this process's own.
#include "simulator/driver/external_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <map>

#include "bodies.h"
#include "simulator/driver/array.h"
#include "simulator/driver/context.h"
#include "simulator/driver/physical_memory.h"

namespace gputrace::sim {
namespace {

struct ExternalMemory {
  int file = -1;
  uint64_t size = 0;
  const Context* context = nullptr;
};
using ExternalMemories = std::map<CUexternalMemory, ExternalMemory>;
ExternalMemories& Memories() {
  static auto* instance = new ExternalMemories;
  return *instance;
}

// Gives what comes after it.
ExternalMemories::iterator Destroy(ExternalMemories::iterator memory) {
  if (memory->second.file >= 0) close(memory->second.file);
  TheDriver().ledger.Remove("external_memory", HandleNumber(memory->first));
  return Memories().erase(memory);
}

std::map<CUexternalSemaphore, bool>& Semaphores() {
  static auto* instance = new std::map<CUexternalSemaphore, bool>;
  return *instance;
}

}  // namespace

void DestroyExternalMemoryOf(const Context* context) {
  for (auto memory = Memories().begin(); memory != Memories().end();) {
    memory = memory->second.context == context ? Destroy(memory) : std::next(memory);
  }
}

extern "C" {

CUresult gpusim_cuImportExternalMemory(CUexternalMemory* extMem_out,
                                       const CUDA_EXTERNAL_MEMORY_HANDLE_DESC* memHandleDesc) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(CurrentContext(&context));
  if (extMem_out == nullptr || memHandleDesc == nullptr || memHandleDesc->size == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (memHandleDesc->type != CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD)
    return CUDA_ERROR_NOT_SUPPORTED;
  *extMem_out = reinterpret_cast<CUexternalMemory>(TheDriver().next_id++);
  // The descriptor is the driver's from now on (header).
  Memories()[*extMem_out] = {memHandleDesc->handle.fd, memHandleDesc->size, context};
  TheDriver().ledger.Add({.kind = "external_memory",
                          .size = memHandleDesc->size,
                          .device = context->device,
                          .context = reinterpret_cast<uint64_t>(context),
                          .handle = HandleNumber(*extMem_out)});
  return CUDA_SUCCESS;
}

CUresult gpusim_cuExternalMemoryGetMappedBuffer(
    CUdeviceptr* devPtr, CUexternalMemory extMem,
    const CUDA_EXTERNAL_MEMORY_BUFFER_DESC* bufferDesc) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(CurrentContext(&context));
  const auto memory = Memories().find(extMem);
  if (memory == Memories().end()) return CUDA_ERROR_INVALID_HANDLE;
  if (devPtr == nullptr || bufferDesc == nullptr || bufferDesc->size == 0 ||
      bufferDesc->offset + bufferDesc->size > memory->second.size) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const uint64_t mapped_size = RoundUp(bufferDesc->size, kGranularity);
  uint64_t address =
      MapFile(memory->second.file, bufferDesc->offset, mapped_size, PROT_READ | PROT_WRITE, 0);
  if (address == 0) address = MapAnonymous(mapped_size);
  if (address == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  TheDriver().allocations.Add({.kind = MemoryKind::kImported,
                               .address = address,
                               .size = bufferDesc->size,
                               .device = context->device,
                               .context = context,
                               .mapped_at = address,
                               .mapped_size = mapped_size});
  *devPtr = address;
  return CUDA_SUCCESS;
}

CUresult gpusim_cuExternalMemoryGetMappedMipmappedArray(
    CUmipmappedArray* mipmap, CUexternalMemory extMem,
    const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC* mipmapDesc) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(CurrentContext(&context));
  if (!Memories().contains(extMem)) return CUDA_ERROR_INVALID_HANDLE;
  if (mipmap == nullptr || mipmapDesc == nullptr || mipmapDesc->numLevels == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CUDA_ARRAY3D_DESCRIPTOR descriptor = mipmapDesc->arrayDesc;
  descriptor.Flags |= CUDA_ARRAY3D_DEFERRED_MAPPING;
  std::shared_ptr<Array> array;
  GPUSIM_TRY(MakeArray(context, descriptor, mipmapDesc->numLevels, &array));
  *mipmap = TheDriver().mipmaps.Add(array);
  return CUDA_SUCCESS;
}

CUresult gpusim_cuDestroyExternalMemory(CUexternalMemory extMem) {
  const Guard guard;
  const auto memory = Memories().find(extMem);
  if (memory == Memories().end()) return CUDA_ERROR_INVALID_HANDLE;
  Destroy(memory);
  return CUDA_SUCCESS;
}

CUresult gpusim_cuImportExternalSemaphore(
    CUexternalSemaphore* extSem_out, const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC* semHandleDesc) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(CurrentContext(&context));
  if (extSem_out == nullptr || semHandleDesc == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *extSem_out = reinterpret_cast<CUexternalSemaphore>(TheDriver().next_id++);
  Semaphores()[*extSem_out] = true;
  return CUDA_SUCCESS;
}

CUresult gpusim_cuDestroyExternalSemaphore(CUexternalSemaphore extSem) {
  const Guard guard;
  return Semaphores().erase(extSem) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

}  // extern "C"

}  // namespace gputrace::sim

// SPDX-License-Identifier: Apache-2.0
// Memory of other programming interfaces, and children that are forked off.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/truth/player.h"

namespace gputrace::truth {
namespace {

constexpr uint64_t kExternalBytes = uint64_t{4} << 20;

void Import(Turn& t) {
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC description = {};
  description.type = t.number(1) == 0 ? CU_EXTERNAL_MEMORY_HANDLE_TYPE_D3D12_HEAP
                                      : CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
  description.size = kExternalBytes;
  description.handle.fd = memfd_create("external", MFD_CLOEXEC);
  if (ftruncate(description.handle.fd, kExternalBytes) != 0) return;
  CUexternalMemory memory = nullptr;
  const CUresult result = cuImportExternalMemory(&memory, &description);
  t.FillInContext(0, result, memory);
  if (result != CUDA_SUCCESS) close(description.handle.fd);
}

void MapBuffer(Turn& t) {
  CUDA_EXTERNAL_MEMORY_BUFFER_DESC description = {};
  description.offset = t.number(3) << 21;
  description.size = t.number(2);
  CUdeviceptr address = 0;
  const CUresult result =
      cuExternalMemoryGetMappedBuffer(&address, t.as<CUexternalMemory>(1), &description);
  t.FillInContext(0, result, address);
}

void MapMipmap(Turn& t) {
  CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC description = {};
  description.arrayDesc.Width = 64;
  description.arrayDesc.Height = 64;
  description.arrayDesc.Format = CU_AD_FORMAT_FLOAT;
  description.arrayDesc.NumChannels = 1;
  description.numLevels = 2;
  CUmipmappedArray array = nullptr;
  const CUresult result =
      cuExternalMemoryGetMappedMipmappedArray(&array, t.as<CUexternalMemory>(1), &description);
  t.FillInContext(0, result, array);
}

// A child cannot use what its parent has set up: all its calls are refused.
void Fork(Turn& t) {
  const pid_t child = fork();
  if (child == 0) {
    CUdeviceptr address = 0;
    size_t free = 0;
    size_t total = 0;
    for (int i = 0; i < 3; ++i) {
      cuMemAlloc_v2(&address, 4096);
      cuMemFree_v2(t.value(0));
      cuMemGetInfo_v2(&free, &total);
    }
    if (t.number(1) == 0) exit(0);
    _exit(0);
  }
  int status = 0;
  if (child > 0) waitpid(child, &status, 0);
}

// Memory of this process for the other one, in each way in which it can be shared.
void TakePeersTurn(Turn& t) {
  Offer offer;
  offer.seed = t.number(4);
  offer.has_memory = cuIpcGetMemHandle(&offer.memory, t.value(0)) == CUDA_SUCCESS;
  offer.has_pointer = cuMemPoolExportPointer(&offer.pointer, t.value(3)) == CUDA_SUCCESS;
  constexpr auto kDescriptor = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  const bool has_physical =
      cuMemExportToShareableHandle(&offer.physical, t.value(1), kDescriptor, 0) == CUDA_SUCCESS;
  const bool has_pool = cuMemPoolExportToShareableHandle(&offer.pool, t.as<CUmemoryPool>(2),
                                                         kDescriptor, 0) == CUDA_SUCCESS;
  t.player.peer().TakeTurn(offer);
  if (has_physical) close(offer.physical);
  if (has_pool) close(offer.pool);
}

}  // namespace

void AddExternalOperations(std::vector<Operation>* operations) {
  const auto add = [operations](auto... parts) { operations->emplace_back(parts...); };
  using Arguments = std::vector<Argument>;
  add("ImportExternalMemory", 2, When::kAnytime, Arguments{New(Type::kExternal), Below(8)}, Import);
  add("DestroyExternalMemory", 1, When::kAnytime, Arguments{Take(Type::kExternal)}, [](Turn& t) {
    cuDestroyExternalMemory(t.as<CUexternalMemory>(0));
    t.Empty(0);
  });
  add("ExternalMemoryGetMappedBuffer", 4, When::kAnytime,
      Arguments{New(Type::kBuffer), Use(Type::kExternal), Size(), Below(3)}, MapBuffer);
  add("ExternalMemoryGetMappedMipmappedArray", 1, When::kAnytime,
      Arguments{New(Type::kMipmap), Use(Type::kExternal)}, MapMipmap);
  add("MemFreeOfBuffer", 3, When::kAnytime, Arguments{Take(Type::kBuffer)}, [](Turn& t) {
    cuMemFree_v2(t.value(0));
    t.Empty(0);
  });
}

void AddProcessOperations(std::vector<Operation>* operations) {
  operations->emplace_back(
      kPeersTurn, 3, When::kSerial,
      std::vector<Argument>{Use(Type::kLinear), Use(Type::kPhysical), Use(Type::kPool),
                            Use(Type::kBlock), Below(1000000)},
      TakePeersTurn);
  operations->emplace_back("Fork", 0, When::kSerial,
                           std::vector<Argument>{Use(Type::kLinear), Below(2)}, Fork);
}

}  // namespace gputrace::truth

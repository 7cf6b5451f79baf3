// SPDX-License-Identifier: Apache-2.0
// Memory of others. "export" writes what is to be imported to the standard output and waits for the
// end of its input; "import" reads that from its own.
#include <sys/mman.h>
#include <unistd.h>

#include <vector>

#include "tests/workloads/patterns/patterns.h"

namespace {

template <typename Handle>
void Send(const Handle& handle) {
  if (write(1, &handle, sizeof(handle)) != sizeof(handle)) exit(4);
}
template <typename Handle>
Handle Receive() {
  Handle handle{};
  if (read(0, &handle, sizeof(handle)) != sizeof(handle)) exit(4);
  return handle;
}
void AwaitEnd() {
  char byte = 0;
  while (read(0, &byte, 1) > 0) continue;
}

[[gnu::noinline]] CUdeviceptr AllocateShared() {
  CUdeviceptr address = 0;
  CHECK(cuMemAlloc(&address, 6 * kMiB));
  KeepFrame();
  return address;
}

void Export(bool) {
  UsePrimary();
  const CUdeviceptr address = AllocateShared();
  CUipcMemHandle handle{};
  CHECK(cuIpcGetMemHandle(&handle, address));
  Send(handle);
  AwaitEnd();
  CHECK(cuMemFree(address));
}

[[gnu::noinline]] CUdeviceptr OpenShared(const CUipcMemHandle& handle) {
  CUdeviceptr address = 0;
  CHECK(cuIpcOpenMemHandle(&address, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  KeepFrame();
  return address;
}

// Opened twice, which is counted, and closed once.
void Import(bool healthy) {
  UsePrimary();
  const auto handle = Receive<CUipcMemHandle>();
  const CUdeviceptr address = OpenShared(handle);
  if (OpenShared(handle) != address) exit(4);
  CHECK(cuIpcCloseMemHandle(address));
  if (healthy) CHECK(cuIpcCloseMemHandle(address));
}

// Both have to be given back, each by its own call.
void External(bool healthy) {
  UsePrimary();
  const int file = memfd_create("external", 0);
  if (ftruncate(file, 2 * kMiB) != 0) exit(4);
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC description{};
  description.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
  description.handle.fd = file;
  description.size = 2 * kMiB;
  CUexternalMemory memory = nullptr;
  CHECK(cuImportExternalMemory(&memory, &description));
  CUDA_EXTERNAL_MEMORY_BUFFER_DESC part{};
  part.size = kMiB;
  CUdeviceptr address = 0;
  CHECK(cuExternalMemoryGetMappedBuffer(&address, memory, &part));
  if (!healthy) return;
  CHECK(cuMemFree(address));
  CHECK(cuDestroyExternalMemory(memory));
}

constexpr Scene kScenes[] = {{"export", Export}, {"import", Import}, {"external", External}};

}  // namespace

int main(int count, char** arguments) { return PlayScene(kScenes, count, arguments); }

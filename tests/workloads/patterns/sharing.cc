// SPDX-License-Identifier: Apache-2.0
// Memory of another process. Each run is one of two: "export" writes what is to be imported to
// the standard output and waits for the end of its input; the others read that from theirs.
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

constexpr Scene kScenes[] = {{"export", Export}, {"import", Import}};

}  // namespace

int main(int count, char** arguments) { return PlayScene(kScenes, count, arguments); }

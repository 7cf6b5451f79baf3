// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/memory_api.h"

#include <cuda.h>

#include <cstdio>
#include <cstdlib>

namespace gputrace::bench {
namespace {

void Check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "%s answered %d\n", what, static_cast<int>(result));
  std::exit(1);
}

uint64_t AllocateHost(size_t bytes) {
  void* memory = malloc(bytes);
  // Without this the compiler would drop a pair of malloc and free.
  asm volatile("" : : "r"(memory) : "memory");
  return reinterpret_cast<uint64_t>(memory);
}

void ReleaseHost(uint64_t address) { free(reinterpret_cast<void*>(address)); }

uint64_t AllocateDevice(size_t bytes) {
  CUdeviceptr address = 0;
  Check(cuMemAlloc(&address, bytes), "cuMemAlloc");
  return address;
}

void ReleaseDevice(uint64_t address) { Check(cuMemFree(address), "cuMemFree"); }

}  // namespace

MemoryApi HostMemory() { return {AllocateHost, ReleaseHost}; }

MemoryApi DeviceMemory() {
  CUcontext context = nullptr;
  Check(cuInit(0), "cuInit");
  Check(cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
  Check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
  return {AllocateDevice, ReleaseDevice};
}

}  // namespace gputrace::bench

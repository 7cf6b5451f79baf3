// SPDX-License-Identifier: Apache-2.0
// One family of calls per run, named by the argument; each leaves something alive and frees
// something.
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/workloads/check.h"

namespace {

constexpr size_t kMiB = size_t{1} << 20;

void Linear() {
  CUdeviceptr a = 0;
  CUdeviceptr b = 0;
  CUdeviceptr c = 0;
  size_t pitch = 0;
  CHECK(cuMemAlloc(&a, 1000));
  CHECK(cuMemAlloc(&b, 5 * kMiB));
  CHECK(cuMemAllocPitch(&c, &pitch, 1000, 64, 4));
  CHECK(cuMemFree(a));
  CHECK(cuMemFree(0));
  EXPECT_RESULT(cuMemAlloc(&a, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_RESULT(cuMemAlloc(nullptr, 64), CUDA_ERROR_INVALID_VALUE);
  EXPECT_RESULT(cuMemAlloc(&a, size_t{1} << 50), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_RESULT(cuMemFree(b + 64), CUDA_ERROR_INVALID_VALUE);
  EXPECT_RESULT(cuMemGetInfo(nullptr, &pitch), CUDA_SUCCESS);
  // The address is used again at once: the free has to be seen first.
  for (int i = 0; i < 100; ++i) {
    CHECK(cuMemAlloc(&a, 4096));
    CHECK(cuMemFree(a));
  }
  CHECK(cuMemAlloc(&a, 4096));
}

void Managed() {
  CUdeviceptr a = 0;
  CUdeviceptr b = 0;
  CHECK(cuMemAllocManaged(&a, 3 * kMiB, CU_MEM_ATTACH_GLOBAL));
  CHECK(cuMemAllocManaged(&b, 64 * 1024 * kMiB, CU_MEM_ATTACH_GLOBAL));  // larger than the card
  EXPECT_RESULT(cuMemAllocManaged(&b, kMiB, 77), CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemFree(a));
}

void Host() {
  void* a = nullptr;
  void* b = nullptr;
  CHECK(cuMemHostAlloc(&a, kMiB, 0));
  CHECK(cuMemAllocHost(&b, 123));
  CHECK(cuMemFreeHost(a));
  EXPECT_RESULT(cuMemFreeHost(a), CUDA_ERROR_INVALID_VALUE);
  static char memory[8192];
  static char more[4096];
  CHECK(cuMemHostRegister(memory, sizeof(memory), 0));
  CHECK(cuMemHostRegister(more, sizeof(more), 0));
  EXPECT_RESULT(cuMemHostRegister(memory, 64, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  CHECK(cuMemHostUnregister(more));
  EXPECT_RESULT(cuMemHostUnregister(more), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

void Pools() {
  CUstream stream = nullptr;
  CUdeviceptr a = 0;
  CUdeviceptr b = 0;
  CUdeviceptr c = 0;
  CUmemoryPool pool = nullptr;
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CHECK(cuStreamCreate(&stream, 0));
  CHECK(cuMemPoolCreate(&pool, &properties));
  CHECK(cuMemAllocAsync(&a, kMiB, stream));
  CHECK(cuMemAllocFromPoolAsync(&b, 2 * kMiB, pool, stream));
  CHECK(cuMemAllocAsync(&c, 3 * kMiB, nullptr));
  CHECK(cuMemFreeAsync(a, stream));
  CHECK(cuMemFree(c));  // by the other API
  EXPECT_RESULT(cuMemFreeAsync(a, stream), CUDA_ERROR_INVALID_VALUE);
  CHECK(cuStreamSynchronize(stream));
  uint64_t reserved = 0;
  CHECK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved));
}

void Contexts() {
  CUcontext context = nullptr;
  CUdeviceptr a = 0;
  void* pinned = nullptr;
  CUarray array = nullptr;
  CUDA_ARRAY_DESCRIPTOR descriptor{};
  descriptor.Width = 1024;
  descriptor.Height = 1024;
  descriptor.Format = CU_AD_FORMAT_FLOAT;
  descriptor.NumChannels = 1;
  CHECK(cuMemAlloc(&a, 7 * kMiB));  // in the primary context: stays
#if CUDA_VERSION >= 13000
  CHECK(cuCtxCreate(&context, nullptr, 0, 0));
#else
  CHECK(cuCtxCreate(&context, 0, 0));
#endif
  CHECK(cuMemAlloc(&a, kMiB));
  CHECK(cuMemHostAlloc(&pinned, kMiB, 0));
  CHECK(cuArrayCreate(&array, &descriptor));
  CHECK(cuMemAllocAsync(&a, kMiB, nullptr));  // survives its context
  CHECK(cuCtxDestroy(context));
  EXPECT_RESULT(cuCtxDestroy(context), CUDA_ERROR_INVALID_CONTEXT);
}

void Reset() {
  CUdeviceptr a = 0;
  CHECK(cuMemAlloc(&a, kMiB));
  CHECK(cuDevicePrimaryCtxReset(0));
  UsePrimary();
  CHECK(cuMemAlloc(&a, 2 * kMiB));
}

void Arrays() {
  CUarray a = nullptr;
  CUarray b = nullptr;
  CUmipmappedArray mipmap = nullptr;
  CUDA_ARRAY3D_DESCRIPTOR d{};
  d.Width = 100;
  d.Height = 50;
  d.Format = CU_AD_FORMAT_UNSIGNED_INT8;
  d.NumChannels = 4;
  CHECK(cuArray3DCreate(&a, &d));
  CHECK(cuArray3DCreate(&b, &d));
  CHECK(cuArrayDestroy(a));
  EXPECT_RESULT(cuArrayDestroy(a), CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuMipmappedArrayCreate(&mipmap, &d, 3));
}

void Virtual() {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemGenericAllocationHandle kept = 0;
  CUmemGenericAllocationHandle gone = 0;
  CUdeviceptr address = 0;
  CHECK(cuMemCreate(&kept, 4 * kMiB, &properties, 0));
  CHECK(cuMemCreate(&gone, 6 * kMiB, &properties, 0));
  CHECK(cuMemAddressReserve(&address, 16 * kMiB, 0, 0, 0));
  CHECK(cuMemMap(address, 4 * kMiB, 0, kept, 0));
  CHECK(cuMemMap(address + 4 * kMiB, 6 * kMiB, 0, gone, 0));
  CHECK(cuMemRelease(kept));  // the mapping keeps it
  CHECK(cuMemRelease(gone));
  EXPECT_RESULT(cuMemUnmap(address, kMiB), CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMemUnmap(address + 4 * kMiB, 6 * kMiB));
}

// The smallest image that is accepted: text of a kernel.
void Modules() {
  CUmodule kept = nullptr;
  CUmodule gone = nullptr;
  CHECK(cuModuleLoadData(&kept, ".version 8.0\n.target sm_90\n"));
  CHECK(cuModuleLoadData(&gone, ".version 8.0\n.target sm_90\n"));
  CHECK(cuModuleUnload(gone));
  EXPECT_RESULT(cuModuleLoad(&gone, "/nonexistent.cubin"), CUDA_ERROR_FILE_NOT_FOUND);
}

// What no call shows: contexts, and what a pool keeps. Pauses, since the driver is asked seldom.
void Untraced() {
  CUcontext second = nullptr;
  CUdeviceptr address = 0;
  CHECK(cuCtxCreate(&second, nullptr, 0, 0));
  for (int i = 0; i < 2; ++i) {
    CHECK(cuMemAllocAsync(&address, 4 << 20, nullptr));
    usleep(20'000);
    CHECK(cuMemFreeAsync(address, nullptr));
  }
  usleep(20'000);
  CUmodule module = nullptr;
  CHECK(cuModuleLoadData(&module, ".version 8.0\n.target sm_90\n"));
}

// A context that is made while none is current: nobody can be asked before it.
void Unsampled() {
  CHECK(cuCtxSetCurrent(nullptr));
  usleep(20'000);
  CUcontext second = nullptr;
  CHECK(cuCtxCreate(&second, nullptr, 0, 0));
}

struct Family {
  const char* name;
  void (*run)();
};
constexpr Family kFamilies[] = {
    {"linear", Linear},     {"managed", Managed},   {"host", Host},          {"pools", Pools},
    {"contexts", Contexts}, {"reset", Reset},       {"arrays", Arrays},      {"virtual", Virtual},
    {"modules", Modules},   {"untraced", Untraced}, {"unsampled", Unsampled}};

}  // namespace

int main(int count, char** arguments) {
  UsePrimary();
  for (const Family& family : kFamilies) {
    if (count == 2 && strcmp(arguments[1], family.name) == 0) {
      family.run();
      return 0;
    }
  }
  fprintf(stderr, "usage: families NAME\n");
  return 2;
}

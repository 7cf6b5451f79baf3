// SPDX-License-Identifier: Apache-2.0
// Objects that the driver keeps memory for, arrays, host memory; and the contexts they are in.
#include "tests/workloads/patterns/patterns.h"

namespace {

[[gnu::noinline]] CUgraphExec CaptureAndLaunch(CUstream stream, CUgraph* graph) {
  CUgraphExec exec = nullptr;
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  CHECK(cuStreamEndCapture(stream, graph));
  CHECK(cuGraphInstantiate(&exec, *graph, 0));
  CHECK(cuGraphLaunch(exec, stream));
  KeepFrame();
  return exec;
}

// The key is never found again: each request adds an entry.
void GraphCache(bool healthy) {
  UsePrimary();
  CUstream stream = nullptr;
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  for (int i = 0; i < 12; ++i) {
    CUgraph graph = nullptr;
    const CUgraphExec exec = CaptureAndLaunch(stream, &graph);
    if (!healthy) continue;
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
  }
  CHECK(cuStreamSynchronize(stream));
  CHECK(cuStreamDestroy(stream));
}

[[gnu::noinline]] CUmodule LoadKernels() {
  CUmodule module = nullptr;
  CHECK(cuModuleLoadData(&module, kImage));
  KeepFrame();
  return module;
}

void Modules(bool healthy) {
  UsePrimary();
  for (int i = 0; i < 36; ++i) {
    const CUmodule module = LoadKernels();
    if (healthy) CHECK(cuModuleUnload(module));
  }
}

[[gnu::noinline]] CUlibrary LoadLibrary() {
  CUlibrary library = nullptr;
  CHECK(cuLibraryLoadData(&library, kImage, nullptr, nullptr, 0, nullptr, nullptr, 0));
  KeepFrame();
  return library;
}

void Library(bool healthy) {
  UsePrimary();
  const CUlibrary library = LoadLibrary();
  if (healthy) CHECK(cuLibraryUnload(library));
}

void StreamAndEvent(bool healthy) {
  UsePrimary();
  CUstream stream = nullptr;
  CUevent event = nullptr;
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuEventCreate(&event, CU_EVENT_DEFAULT));
  if (!healthy) return;
  CHECK(cuEventDestroy(event));
  CHECK(cuStreamDestroy(stream));
}

// Keeps as many as it has slots for: after the first rounds nothing is added.
void BoundedCache(bool) {
  UsePrimary();
  CUmodule slots[4] = {};
  for (int i = 0; i < 40; ++i) {
    CUmodule& slot = slots[i % 4];
    if (slot != nullptr) CHECK(cuModuleUnload(slot));
    slot = LoadKernels();
  }
}

[[gnu::noinline]] CUmemoryPool MakePool() {
  CUmemoryPool pool = nullptr;
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CHECK(cuMemPoolCreate(&pool, &properties));
  KeepFrame();
  return pool;
}

void Pool(bool healthy) {
  UsePrimary();
  const CUmemoryPool pool = MakePool();
  CUdeviceptr address = 0;
  CHECK(cuMemAllocFromPoolAsync(&address, kMiB, pool, nullptr));
  CHECK(cuMemFreeAsync(address, nullptr));
  CHECK(cuStreamSynchronize(nullptr));
  if (healthy) CHECK(cuMemPoolDestroy(pool));
}

void Array(bool healthy) {
  UsePrimary();
  CUarray array = nullptr;
  CUDA_ARRAY_DESCRIPTOR descriptor{};
  descriptor.Width = 512;
  descriptor.Height = 512;
  descriptor.Format = CU_AD_FORMAT_FLOAT;
  descriptor.NumChannels = 1;
  CHECK(cuArrayCreate(&array, &descriptor));
  if (healthy) CHECK(cuArrayDestroy(array));
}

void Mipmap(bool healthy) {
  UsePrimary();
  CUmipmappedArray mipmap = nullptr;
  CUDA_ARRAY3D_DESCRIPTOR descriptor{};
  descriptor.Width = 64;
  descriptor.Height = 64;
  descriptor.Format = CU_AD_FORMAT_UNSIGNED_INT8;
  descriptor.NumChannels = 4;
  CHECK(cuMipmappedArrayCreate(&mipmap, &descriptor, 3));
  if (healthy) CHECK(cuMipmappedArrayDestroy(mipmap));
}

void Pinned(bool healthy) {
  UsePrimary();
  void* memory = nullptr;
  CHECK(cuMemAllocHost(&memory, kMiB));
  if (healthy) CHECK(cuMemFreeHost(memory));
}

void Managed(bool healthy) {
  UsePrimary();
  CUdeviceptr memory = 0;
  CHECK(cuMemAllocManaged(&memory, kMiB, CU_MEM_ATTACH_GLOBAL));
  if (healthy) CHECK(cuMemFree(memory));
}

[[gnu::noinline]] void TouchDevice(CUdevice device) {
  CUcontext context = nullptr;
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  KeepFrame();
}

// All work is on device 1, but something makes a context on device 0.
void StrayContext(bool healthy) {
  CUcontext context = nullptr;
  CUdeviceptr memory = 0;
  CHECK(cuDevicePrimaryCtxRetain(&context, 1));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuMemAlloc(&memory, kMiB));
  if (!healthy) TouchDevice(0);
  CHECK(cuMemFree(memory));
}

[[gnu::noinline]] void AllocateInContext() {
  CUdeviceptr memory = 0;
  CHECK(cuMemAlloc(&memory, 3 * kMiB));
  KeepFrame();
}

// The context's end frees what nobody did, but not what is stream-ordered or made by cuMemCreate.
void ContextEnd(bool healthy) {
  CUcontext context = nullptr;
#if CUDA_VERSION >= 13000
  CHECK(cuCtxCreate(&context, nullptr, 0, 0));
#else
  CHECK(cuCtxCreate(&context, 0, 0));
#endif
  CUdeviceptr block = 0;
  if (!healthy) AllocateInContext();
  CHECK(cuMemAllocAsync(&block, kMiB, nullptr));
  if (healthy) CHECK(cuMemFreeAsync(block, nullptr));
  CHECK(cuCtxDestroy(context));
}

void PrimaryReset(bool healthy) {
  UsePrimary();
  if (!healthy) AllocateInContext();
  CHECK(cuDevicePrimaryCtxReset(0));
}

// What is taken once stays flat: allocated once and kept, and nothing that grows.
void OneTime(bool) {
  UsePrimary();
  static CUmodule kernels;
  static CUdeviceptr workspace;
  for (int i = 0; i < 100; ++i) {
    if (kernels == nullptr) kernels = LoadKernels();
    if (workspace == 0) CHECK(cuMemAlloc(&workspace, 20 * kMiB));
    CUdeviceptr memory = 0;
    CHECK(cuMemAlloc(&memory, kMiB));
    CHECK(cuMemFree(memory));
  }
}

constexpr Scene kScenes[] = {{"graph_cache", GraphCache},
                             {"modules", Modules},
                             {"library", Library},
                             {"stream_and_event", StreamAndEvent},
                             {"bounded_cache", BoundedCache},
                             {"pool", Pool},
                             {"array", Array},
                             {"mipmap", Mipmap},
                             {"pinned", Pinned},
                             {"managed", Managed},
                             {"stray_context", StrayContext},
                             {"context_end", ContextEnd},
                             {"primary_reset", PrimaryReset},
                             {"one_time", OneTime}};

}  // namespace

int main(int count, char** arguments) { return PlayScene(kScenes, count, arguments); }

// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>

#include <thread>

#include "tests/unit/simulator/simulated.h"

namespace gputrace::sim {
namespace {

CUcontext Current() {
  CUcontext context = nullptr;
  EXPECT_OK(cuCtxGetCurrent(&context));
  return context;
}

CUcontext Create(CUdevice device = 0) {
  CUcontext context = nullptr;
  EXPECT_OK(cuCtxCreate(&context, nullptr, 0, device));
  return context;
}

TEST_F(Simulated, CallsWithoutAContextAreRefused) {
  ASSERT_OK(cuInit(0));
  CUdeviceptr address = 0;
  void* host = nullptr;
  CUstream stream = nullptr;
  EXPECT_EQ(Current(), nullptr);
  EXPECT_EQ(cuMemAlloc(&address, 1), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuMemAlloc(nullptr, 1), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuMemFree(0), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuMemHostAlloc(&host, 1, 0), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuStreamCreate(&stream, 0), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuMemAllocAsync(&address, 1, nullptr), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuModuleLoadData(nullptr, nullptr), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(Simulated, PrimaryContextsAreCounted) {
  ASSERT_OK(cuInit(0));
  unsigned flags = 0;
  int active = -1;
  ASSERT_OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
  EXPECT_EQ(active, 0);
  CUcontext first = nullptr;
  CUcontext second = nullptr;
  ASSERT_OK(cuDevicePrimaryCtxRetain(&first, 0));
  ASSERT_OK(cuDevicePrimaryCtxRetain(&second, 0));
  EXPECT_EQ(first, second);
  ASSERT_OK(cuDevicePrimaryCtxRelease(0));
  ASSERT_OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
  EXPECT_EQ(active, 1);
  ASSERT_OK(cuDevicePrimaryCtxRelease(0));
  EXPECT_EQ(cuDevicePrimaryCtxRelease(0), CUDA_ERROR_INVALID_CONTEXT);
  ASSERT_OK(cuDevicePrimaryCtxRetain(&second, 0));
  EXPECT_EQ(first, second) << "one handle for the life of the process";
}

TEST_F(Simulated, APrimaryContextMayBeCurrentBeforeItIsRetained) {
  Start();
  ASSERT_OK(cuDevicePrimaryCtxRelease(0));
  EXPECT_OK(cuCtxSetCurrent(context_));
  CUdeviceptr address = 0;
  EXPECT_EQ(cuMemAlloc(&address, 1), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  ASSERT_OK(cuDevicePrimaryCtxRetain(&context_, 0));
  EXPECT_OK(cuMemAlloc(&address, 1));
}

TEST_F(Simulated, ContextsTakeMemoryOfTheirDevice) {
  Start();
  EXPECT_EQ(Free(), 16 * kGiB - 256 * kMiB);
  const CUcontext second = Create();
  EXPECT_EQ(Used(), 256 * kMiB);
  ASSERT_OK(cuCtxDestroy(second));
  EXPECT_EQ(Used(), 0u);
}

TEST_F(Simulated, CreatedContextsAreStacked) {
  ASSERT_OK(cuInit(0));
  const CUcontext first = Create();
  const CUcontext second = Create();
  EXPECT_EQ(Current(), second);
  CUcontext popped = nullptr;
  ASSERT_OK(cuCtxPopCurrent(&popped));
  EXPECT_EQ(popped, second);
  EXPECT_EQ(Current(), first);
  ASSERT_OK(cuCtxPushCurrent(second));
  ASSERT_OK(cuCtxDestroy(second));
  EXPECT_EQ(Current(), first) << "popped with its end";
  ASSERT_OK(cuCtxSetCurrent(nullptr));
  EXPECT_EQ(Current(), nullptr);
  EXPECT_EQ(cuCtxPopCurrent(&popped), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuCtxPushCurrent(second), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuCtxSetCurrent(second), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuCtxDestroy(second), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(Simulated, ContextsAreOfAThread) {
  Start();
  std::thread([] { EXPECT_EQ(Current(), nullptr); }).join();
  EXPECT_EQ(Current(), context_);
}

TEST_F(Simulated, AThreadHasItsContextUntilItsLastDestructors) {
  Start();
  static CUcontext seen = nullptr;
  // Made before and after the driver's own, if it has one: the order of their destructors is open.
  pthread_key_t keys[2];
  const auto look = [](void*) { seen = Current(); };
  ASSERT_EQ(pthread_key_create(&keys[0], look), 0);
  std::thread([this, look, &keys] {
    ASSERT_OK(cuCtxSetCurrent(context_));
    ASSERT_EQ(pthread_key_create(&keys[1], look), 0);
    for (const pthread_key_t key : keys) ASSERT_EQ(pthread_setspecific(key, this), 0);
  }).join();
  EXPECT_EQ(seen, context_);
}

TEST_F(Simulated, ADestroyedContextIsStaleInOtherThreads) {
  ASSERT_OK(cuInit(0));
  const CUcontext context = Create();
  std::thread([context] { ASSERT_OK(cuCtxDestroy(context)); }).join();
  CUdeviceptr address = 0;
  EXPECT_EQ(cuMemAlloc(&address, 1), CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

TEST_F(Simulated, AContextEndsWithWhatBelongsToIt) {
  Start();
  const CUcontext context = Create();
  Allocate(5 * kMiB);
  void* pinned = nullptr;
  ASSERT_OK(cuMemHostAlloc(&pinned, 100, 0));
  CUdeviceptr managed = 0;
  ASSERT_OK(cuMemAllocManaged(&managed, 100, CU_MEM_ATTACH_GLOBAL));
  CUarray array = nullptr;
  const CUDA_ARRAY_DESCRIPTOR descriptor = {1024, 1024, CU_AD_FORMAT_FLOAT, 1};
  ASSERT_OK(cuArrayCreate(&array, &descriptor));
  CUdeviceptr pool_block = 0;
  ASSERT_OK(cuMemAllocAsync(&pool_block, 100, nullptr));
  ASSERT_OK(cuCtxDestroy(context));
  EXPECT_EQ(cuMemFreeHost(pinned), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFree(managed), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Used(), 32 * kMiB) << "memory of pools stays";
  EXPECT_OK(cuMemFree(pool_block));
  EXPECT_OK(cuCtxSynchronize());
  EXPECT_EQ(Used(), 0u);
}

TEST_F(Simulated, AResetEndsWhatThePrimaryContextHolds) {
  Start();
  const CUdeviceptr address = Allocate(5 * kMiB);
  ASSERT_OK(cuDevicePrimaryCtxReset(0));
  ASSERT_OK(cuDevicePrimaryCtxRetain(&context_, 0));
  EXPECT_EQ(cuMemFree(address), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Used(), 0u);
}

TEST_F(Simulated, Limits) {
  Start();
  size_t value = 0;
  ASSERT_OK(cuCtxGetLimit(&value, CU_LIMIT_MALLOC_HEAP_SIZE));
  EXPECT_EQ(value, 8 * kMiB);
  ASSERT_OK(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 64 * kMiB));
  ASSERT_OK(cuCtxGetLimit(&value, CU_LIMIT_MALLOC_HEAP_SIZE));
  EXPECT_EQ(value, 64 * kMiB);
  EXPECT_EQ(cuCtxGetLimit(&value, CU_LIMIT_MAX), CUDA_ERROR_UNSUPPORTED_LIMIT);
  EXPECT_EQ(cuCtxSetLimit(CU_LIMIT_SHMEM_SIZE, 1), CUDA_ERROR_UNSUPPORTED_LIMIT);
}

TEST_F(Simulated, PeerAccess) {
  Start({{"GPUSIM_DEVICES", "2"}});
  CUcontext peer = nullptr;
  ASSERT_OK(cuDevicePrimaryCtxRetain(&peer, 1));
  EXPECT_EQ(cuCtxDisablePeerAccess(peer), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
  EXPECT_OK(cuCtxEnablePeerAccess(peer, 0));
  EXPECT_EQ(cuCtxEnablePeerAccess(peer, 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  EXPECT_OK(cuCtxDisablePeerAccess(peer));
  EXPECT_EQ(cuCtxEnablePeerAccess(context_, 0), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(Simulated, GreenContexts) {
  Start();
  CUdevResource all;
  ASSERT_OK(cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM));
  EXPECT_EQ(all.sm.smCount, 132u);
  CUdevResource part;
  CUdevResource rest;
  unsigned groups = 1;
  ASSERT_OK(cuDevSmResourceSplitByCount(&part, &groups, &all, &rest, 0, 20));
  EXPECT_EQ(groups, 1u);
  EXPECT_EQ(part.sm.smCount, 24u);
  EXPECT_EQ(rest.sm.smCount, 108u);
  CUdevResourceDesc description = nullptr;
  ASSERT_OK(cuDevResourceGenerateDesc(&description, &part, 1));
  CUgreenCtx green = nullptr;
  ASSERT_OK(cuGreenCtxCreate(&green, description, 0, CU_GREEN_CTX_DEFAULT_STREAM));
  CUstream stream = nullptr;
  ASSERT_OK(cuGreenCtxStreamCreate(&stream, green, CU_STREAM_NON_BLOCKING, 0));
  CUgreenCtx of_stream = nullptr;
  ASSERT_OK(cuStreamGetGreenCtx(stream, &of_stream));
  EXPECT_EQ(of_stream, green);
  EXPECT_OK(cuStreamDestroy(stream));
  EXPECT_OK(cuGreenCtxDestroy(green));
  EXPECT_EQ(cuGreenCtxDestroy(green), CUDA_ERROR_INVALID_CONTEXT);
  ASSERT_OK(cuGreenCtxCreate(&green, description, 0, CU_GREEN_CTX_DEFAULT_STREAM));
  ASSERT_OK(cuDevicePrimaryCtxReset(0));
  EXPECT_EQ(cuGreenCtxStreamCreate(&stream, green, CU_STREAM_NON_BLOCKING, 0),
            CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_OK(cuGreenCtxDestroy(green)) << "the reset has taken its reference";
}

}  // namespace
}  // namespace gputrace::sim

// SPDX-License-Identifier: Apache-2.0
// Stream-ordered allocation.
#include "tests/unit/simulator/simulated.h"

namespace gputrace::sim {
namespace {

class Pools : public Simulated {
 protected:
  CUdeviceptr AllocateOn(CUstream stream, size_t size) {
    CUdeviceptr address = 0;
    EXPECT_OK(cuMemAllocAsync(&address, size, stream));
    return address;
  }
  static CUstream NewStream() {
    CUstream stream = nullptr;
    EXPECT_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    return stream;
  }
  static CUmemoryPool DefaultPool() {
    CUmemoryPool pool = nullptr;
    EXPECT_OK(cuDeviceGetDefaultMemPool(&pool, 0));
    return pool;
  }
  static cuuint64_t Value(CUmemoryPool pool, CUmemPool_attribute attribute) {
    cuuint64_t value = 0;
    EXPECT_OK(cuMemPoolGetAttribute(pool, attribute, &value));
    return value;
  }
  static void SetThreshold(CUmemoryPool pool, cuuint64_t bytes) {
    EXPECT_OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &bytes));
  }
};

TEST_F(Pools, UsedIsInsideReserved) {
  Start();
  const CUstream stream = NewStream();
  const CUmemoryPool pool = DefaultPool();
  const CUdeviceptr first = AllocateOn(stream, 1000);
  const CUdeviceptr second = AllocateOn(stream, kMiB);
  EXPECT_EQ(Value(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 1024 + kMiB);
  EXPECT_EQ(Value(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 32 * kMiB);
  EXPECT_EQ(Used(), 32 * kMiB);
  EXPECT_OK(cuMemFreeAsync(first, stream));
  EXPECT_OK(cuMemFreeAsync(second, stream));
  EXPECT_EQ(Value(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0u);
  EXPECT_EQ(Value(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH), 1024 + kMiB);
  EXPECT_EQ(Used(), 32 * kMiB) << "nothing goes back before a synchronisation";
  EXPECT_OK(cuStreamSynchronize(stream));
  EXPECT_EQ(Used(), 0u);
  EXPECT_EQ(Value(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH), 32 * kMiB);
}

TEST_F(Pools, TheThresholdKeepsMemory) {
  Start();
  const CUmemoryPool pool = DefaultPool();
  SetThreshold(pool, 100 * kMiB);
  const CUdeviceptr small = AllocateOn(nullptr, 64 * kMiB);
  const CUdeviceptr large = AllocateOn(nullptr, 128 * kMiB);
  EXPECT_OK(cuMemFreeAsync(small, nullptr));
  EXPECT_OK(cuMemFreeAsync(large, nullptr));
  EXPECT_OK(cuCtxSynchronize());
  EXPECT_EQ(Used(), 128 * kMiB) << "less than the threshold must not be left";
  EXPECT_OK(cuMemPoolTrimTo(pool, 0));
  EXPECT_EQ(Used(), 0u);
}

TEST_F(Pools, AStreamReusesWhatItFreedAtOnce) {
  Start();
  const CUstream stream = NewStream();
  const CUdeviceptr address = AllocateOn(stream, kMiB);
  EXPECT_OK(cuMemFreeAsync(address, stream));
  EXPECT_EQ(AllocateOn(stream, kMiB), address);
}

TEST_F(Pools, OtherStreamsHaveToWait) {
  Start();
  const CUstream one = NewStream();
  const CUstream other = NewStream();
  const CUdeviceptr address = AllocateOn(one, kMiB);
  EXPECT_OK(cuMemFreeAsync(address, one));
  EXPECT_NE(AllocateOn(other, kMiB), address);
  EXPECT_OK(cuStreamSynchronize(one));
  EXPECT_EQ(AllocateOn(other, kMiB), address);
}

TEST_F(Pools, AnEventIsEnoughOrder) {
  Start();
  const CUstream one = NewStream();
  const CUstream other = NewStream();
  CUevent event = nullptr;
  ASSERT_OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  const CUdeviceptr address = AllocateOn(one, kMiB);
  EXPECT_OK(cuMemFreeAsync(address, one));
  EXPECT_OK(cuEventRecord(event, one));
  EXPECT_OK(cuStreamWaitEvent(other, event, 0));
  EXPECT_EQ(AllocateOn(other, kMiB), address);
}

TEST_F(Pools, AnEventIsNotIfThePoolDoesNotFollowEvents) {
  Start();
  const CUstream one = NewStream();
  const CUstream other = NewStream();
  int off = 0;
  ASSERT_OK(
      cuMemPoolSetAttribute(DefaultPool(), CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES, &off));
  CUevent event = nullptr;
  ASSERT_OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  const CUdeviceptr address = AllocateOn(one, kMiB);
  EXPECT_OK(cuMemFreeAsync(address, one));
  EXPECT_OK(cuEventRecord(event, one));
  EXPECT_OK(cuStreamWaitEvent(other, event, 0));
  EXPECT_NE(AllocateOn(other, kMiB), address);
}

TEST_F(Pools, PendingMemoryIsTakenBeforeAllocationsFail) {
  Start({{"GPUSIM_MEMORY", "1GiB"}});
  const CUstream one = NewStream();
  const CUstream other = NewStream();
  const CUdeviceptr address = AllocateOn(one, 900 * kMiB);
  EXPECT_OK(cuMemFreeAsync(address, one));
  EXPECT_EQ(AllocateOn(other, 900 * kMiB), address);
}

TEST_F(Pools, OutOfMemory) {
  Start({{"GPUSIM_MEMORY", "1GiB"}});
  CUdeviceptr address = 0;
  EXPECT_EQ(cuMemAllocAsync(&address, 2 * kGiB, nullptr), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cuMemAllocAsync(&address, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAllocAsync(nullptr, 1, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFreeAsync(0, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFreeAsync(0x1000, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Pools, MemFreeTakesPoolMemory) {
  Start();
  const CUdeviceptr address = AllocateOn(nullptr, kMiB);
  EXPECT_OK(cuMemFree(address));
  EXPECT_EQ(cuMemFree(address), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Value(DefaultPool(), CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0u);
}

TEST_F(Pools, CreatedPools) {
  Start();
  CUmemPoolProps props = {};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  props.maxSize = 4 * kMiB;
  CUmemoryPool pool = nullptr;
  ASSERT_OK(cuMemPoolCreate(&pool, &props));
  CUdeviceptr address = 0;
  EXPECT_EQ(cuMemAllocFromPoolAsync(&address, 5 * kMiB, pool, nullptr), CUDA_ERROR_OUT_OF_MEMORY);
  ASSERT_OK(cuMemAllocFromPoolAsync(&address, 3 * kMiB, pool, nullptr));
  EXPECT_EQ(Used(), 4 * kMiB);
  ASSERT_OK(cuMemPoolDestroy(pool));
  EXPECT_EQ(cuMemPoolTrimTo(pool, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Used(), 4 * kMiB) << "its memory lives until it is freed";
  ASSERT_OK(cuMemFreeAsync(address, nullptr));
  EXPECT_EQ(Used(), 0u);
  EXPECT_EQ(cuMemPoolDestroy(DefaultPool()), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Pools, TheCurrentPoolIsUsed) {
  Start();
  CUmemPoolProps props = {};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  CUmemoryPool pool = nullptr;
  ASSERT_OK(cuMemPoolCreate(&pool, &props));
  ASSERT_OK(cuDeviceSetMemPool(0, pool));
  AllocateOn(nullptr, 1000);
  EXPECT_EQ(Value(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 1024u);
  EXPECT_EQ(Value(DefaultPool(), CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0u);
  ASSERT_OK(cuMemPoolDestroy(pool));
  CUmemoryPool current = nullptr;
  ASSERT_OK(cuDeviceGetMemPool(&current, 0));
  EXPECT_EQ(current, DefaultPool());
}

TEST_F(Pools, PoolsOnTheHost) {
  Start();
  CUmemPoolProps props = {};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location = {CU_MEM_LOCATION_TYPE_HOST, {0}};
  CUmemoryPool pool = nullptr;
  ASSERT_OK(cuMemPoolCreate(&pool, &props));
  CUdeviceptr address = 0;
  ASSERT_OK(cuMemAllocFromPoolAsync(&address, kMiB, pool, nullptr));
  *reinterpret_cast<char*>(address) = 1;
  EXPECT_EQ(Used(), 0u);
  props.location = {CU_MEM_LOCATION_TYPE_DEVICE, {5}};
  EXPECT_EQ(cuMemPoolCreate(&pool, &props), CUDA_ERROR_INVALID_DEVICE);
}

TEST_F(Pools, HighWaterMarksStartAgain) {
  Start();
  const CUmemoryPool pool = DefaultPool();
  const CUdeviceptr address = AllocateOn(nullptr, kMiB);
  EXPECT_OK(cuMemFree(address));
  cuuint64_t zero = 0;
  cuuint64_t one = 1;
  EXPECT_OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &zero));
  EXPECT_EQ(Value(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH), 0u);
  EXPECT_EQ(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &one),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &zero),
            CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace gputrace::sim

// SPDX-License-Identifier: Apache-2.0
// Linear, managed and pinned memory; what the driver knows of pointers.
#include <sys/resource.h>

#include <thread>

#include "tests/unit/simulator/simulated.h"

namespace gputrace::sim {
namespace {

TEST_F(Simulated, SmallBlocksShareSlabs) {
  Start();
  std::vector<CUdeviceptr> blocks;
  for (int i = 0; i < 4096; ++i) blocks.push_back(Allocate(1));
  EXPECT_EQ(Used(), 2 * kMiB);
  EXPECT_EQ(blocks[1] - blocks[0], 512u);
  blocks.push_back(Allocate(1));
  EXPECT_EQ(Used(), 4 * kMiB);
  for (const CUdeviceptr block : blocks) EXPECT_OK(cuMemFree(block));
  EXPECT_EQ(Used(), 0u);
}

TEST_F(Simulated, LargeBlocksAreWholeGranules) {
  Start();
  const CUdeviceptr block = Allocate(5 * kMiB);
  EXPECT_EQ(block % (2 * kMiB), 0u);
  EXPECT_EQ(Used(), 6 * kMiB);
  Allocate(512);
  EXPECT_EQ(Used(), 8 * kMiB) << "the rest of a large block's last granule is not for others";
  EXPECT_OK(cuMemFree(block));
  EXPECT_EQ(Used(), 2 * kMiB);
}

TEST_F(Simulated, OutOfMemoryIsExact) {
  Start({{"GPUSIM_MEMORY", "1GiB"}});
  const size_t free = Free();
  CUdeviceptr address = 0;
  EXPECT_EQ(cuMemAlloc(&address, free + 1), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cuMemAlloc(&address, SIZE_MAX), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_OK(cuMemAlloc(&address, free));
  EXPECT_EQ(Free(), 0u);
  CUdeviceptr more = 0;
  EXPECT_EQ(cuMemAlloc(&more, 1), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_OK(cuMemFree(address));
  EXPECT_EQ(Free(), free);
}

TEST_F(Simulated, BadArgumentsOfAllocations) {
  Start();
  CUdeviceptr address = 0;
  size_t pitch = 0;
  EXPECT_EQ(cuMemAlloc(&address, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAlloc(nullptr, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAllocPitch(&address, &pitch, 10, 10, 3), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAllocPitch(&address, &pitch, 0, 10, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAllocPitch(&address, &pitch, SIZE_MAX, 2, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAllocManaged(&address, 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAllocManaged(&address, 0, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Simulated, FreesOfWhatIsNotThere) {
  Start();
  EXPECT_OK(cuMemFree(0));
  EXPECT_EQ(cuMemFree(0x1000), CUDA_ERROR_INVALID_VALUE);
  const CUdeviceptr address = Allocate(1024);
  EXPECT_EQ(cuMemFree(address + 512), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(cuMemFree(address));
  EXPECT_EQ(cuMemFree(address), CUDA_ERROR_INVALID_VALUE);
  void* pinned = nullptr;
  ASSERT_OK(cuMemHostAlloc(&pinned, 1, 0));
  EXPECT_EQ(cuMemFree(reinterpret_cast<CUdeviceptr>(pinned)), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Simulated, RowsOfAPitchAreAligned) {
  Start();
  CUdeviceptr address = 0;
  size_t pitch = 0;
  ASSERT_OK(cuMemAllocPitch(&address, &pitch, 1000, 3000, 4));
  EXPECT_EQ(pitch, 1024u);
  EXPECT_EQ(Used(), 4 * kMiB);
  CUdeviceptr base = 0;
  size_t size = 0;
  ASSERT_OK(cuMemGetAddressRange(&base, &size, address + 2000));
  EXPECT_EQ(base, address);
  EXPECT_EQ(size, 1024u * 3000);
}

TEST_F(Simulated, ManagedMemoryMayBeLargerThanTheCard) {
  Start({{"GPUSIM_MEMORY", "1GiB"}});
  CUdeviceptr address = 0;
  ASSERT_OK(cuMemAllocManaged(&address, 8 * kGiB, CU_MEM_ATTACH_GLOBAL));
  EXPECT_EQ(Used(), 0u);
  auto* bytes = reinterpret_cast<char*>(address);
  bytes[8 * kGiB - 1] = 1;
  EXPECT_EQ(bytes[0], 0);
  const CUmemLocation device = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  EXPECT_OK(cuMemPrefetchAsync(address, kMiB, device, 0, nullptr));
  EXPECT_EQ(cuMemPrefetchAsync(address, 9 * kGiB, device, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(cuMemAdvise(address, kMiB, CU_MEM_ADVISE_SET_READ_MOSTLY, device));
  EXPECT_OK(cuMemFree(address));
}

TEST_F(Simulated, LargeCardsFitSmallMachines) {
  Start({{"GPUSIM_MEMORY", "80GiB"}});
  const CUdeviceptr address = Allocate(79 * kGiB);
  EXPECT_OK(cuMemsetD8(address, 0, 79 * kGiB));
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  EXPECT_LT(usage.ru_maxrss, 200 * 1024) << "KiB: nothing was touched";
}

TEST_F(Simulated, PinnedMemory) {
  Start();
  void* host = nullptr;
  ASSERT_OK(cuMemHostAlloc(&host, 3 * kMiB, CU_MEMHOSTALLOC_WRITECOMBINED));
  memset(host, 1, 3 * kMiB);
  EXPECT_EQ(Used(), 0u);
  unsigned flags = 0;
  ASSERT_OK(cuMemHostGetFlags(&flags, host));
  EXPECT_TRUE(flags & CU_MEMHOSTALLOC_WRITECOMBINED);
  CUdeviceptr device = 0;
  ASSERT_OK(cuMemHostGetDevicePointer(&device, host, 0));
  EXPECT_EQ(device, reinterpret_cast<CUdeviceptr>(host));
  EXPECT_OK(cuMemFreeHost(host));
  EXPECT_EQ(cuMemFreeHost(host), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemHostGetFlags(&flags, host), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemHostAlloc(&host, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemHostAlloc(&host, 1, 0x100), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(cuMemAllocHost(&host, 1));
}

TEST_F(Simulated, RegisteredMemory) {
  Start();
  std::vector<char> bytes(10000);
  EXPECT_EQ(cuMemHostUnregister(bytes.data()), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  EXPECT_OK(cuMemHostRegister(bytes.data(), bytes.size(), 0));
  EXPECT_EQ(cuMemHostRegister(bytes.data() + 5000, 10, 0),
            CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  EXPECT_EQ(cuMemHostUnregister(bytes.data() + 1), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  EXPECT_OK(cuMemHostUnregister(bytes.data()));
  EXPECT_EQ(cuMemHostRegister(bytes.data(), 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemHostRegister(nullptr, 1, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Simulated, PointersAreKnown) {
  Start();
  const CUdeviceptr address = Allocate(1000);
  unsigned type = 0;
  ASSERT_OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address + 999));
  EXPECT_EQ(type, static_cast<unsigned>(CU_MEMORYTYPE_DEVICE));
  CUcontext context = nullptr;
  ASSERT_OK(cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, address));
  EXPECT_EQ(context, context_);
  size_t size = 0;
  ASSERT_OK(cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, address));
  EXPECT_EQ(size, 1000u);
  void* host = nullptr;
  EXPECT_EQ(cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, address),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address + 1000),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Simulated, UnknownPointersHaveNoAttributes) {
  Start();
  unsigned type = 77;
  int ordinal = 77;
  CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                      CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  void* values[] = {&type, &ordinal};
  EXPECT_OK(cuPointerGetAttributes(2, attributes, values, reinterpret_cast<CUdeviceptr>(&type)));
  EXPECT_EQ(type, 0u);
  EXPECT_EQ(ordinal, -2);
}

TEST_F(Simulated, BufferIdsAreNotUsedAgain) {
  Start();
  unsigned long long first = 0;
  unsigned long long second = 0;
  const CUdeviceptr address = Allocate(1000);
  ASSERT_OK(cuPointerGetAttribute(&first, CU_POINTER_ATTRIBUTE_BUFFER_ID, address));
  ASSERT_OK(cuMemFree(address));
  ASSERT_OK(cuPointerGetAttribute(&second, CU_POINTER_ATTRIBUTE_BUFFER_ID, Allocate(1000)));
  EXPECT_NE(first, second);
}

TEST_F(Simulated, ThreadsMayAllocateAtOnce) {
  Start();
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([this] {
      ASSERT_OK(cuCtxSetCurrent(context_));
      for (int j = 0; j < 500; ++j) {
        const CUdeviceptr address = Allocate(static_cast<size_t>(j) * 1000 + 1);
        ASSERT_OK(cuMemsetD8(address, 1, 1));
        ASSERT_OK(cuMemFree(address));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Used(), 0u);
}

}  // namespace
}  // namespace gputrace::sim

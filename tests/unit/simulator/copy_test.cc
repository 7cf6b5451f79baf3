// SPDX-License-Identifier: Apache-2.0
// Copies and fills are real.
#include <sys/resource.h>

#include <numeric>

#include "tests/unit/simulator/simulated.h"

namespace gputrace::sim {
namespace {

std::vector<unsigned char> Pattern(size_t size) {
  std::vector<unsigned char> bytes(size);
  std::iota(bytes.begin(), bytes.end(), static_cast<unsigned char>(1));
  return bytes;
}

std::vector<unsigned char> Read(CUdeviceptr address, size_t size) {
  std::vector<unsigned char> bytes(size);
  EXPECT_OK(cuMemcpyDtoH(bytes.data(), address, size));
  return bytes;
}

TEST_F(Simulated, CopiesThereAroundAndBack) {
  Start();
  const auto bytes = Pattern(10000);
  const CUdeviceptr first = Allocate(10000);
  const CUdeviceptr second = Allocate(3 * kMiB);
  EXPECT_OK(cuMemcpyHtoD(first, bytes.data(), bytes.size()));
  EXPECT_OK(cuMemcpyDtoD(second + 17, first, bytes.size()));
  EXPECT_EQ(Read(second + 17, bytes.size()), bytes);
  std::vector<unsigned char> back(bytes.size());
  EXPECT_OK(cuMemcpy(reinterpret_cast<CUdeviceptr>(back.data()), second + 17, back.size()));
  EXPECT_EQ(back, bytes);
}

TEST_F(Simulated, CopiesBetweenDevices) {
  Start({{"GPUSIM_DEVICES", "2"}});
  const CUdeviceptr here = Allocate(100);
  CUcontext other = nullptr;
  ASSERT_OK(cuDevicePrimaryCtxRetain(&other, 1));
  ASSERT_OK(cuCtxSetCurrent(other));
  const CUdeviceptr there = Allocate(100);
  EXPECT_OK(cuMemsetD8(here, 7, 100));
  EXPECT_OK(cuMemcpyPeer(there, other, here, context_, 100));
  EXPECT_EQ(Read(there, 100), std::vector<unsigned char>(100, 7));
}

TEST_F(Simulated, RangesOfCopiesAreChecked) {
  Start();
  std::vector<unsigned char> bytes(2000);
  const CUdeviceptr address = Allocate(1000);
  EXPECT_EQ(cuMemcpyHtoD(address, bytes.data(), 1001), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyHtoD(address + 500, bytes.data(), 501), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(cuMemcpyHtoD(address + 500, bytes.data(), 500));
  EXPECT_OK(cuMemcpyHtoD(address, bytes.data(), 0));
  EXPECT_EQ(cuMemcpyDtoH(bytes.data(), 0x1000, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD8(address, 0, 1001), CUDA_ERROR_INVALID_VALUE);
  ASSERT_OK(cuMemFree(address));
  EXPECT_EQ(cuMemcpyHtoD(address, bytes.data(), 1), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Simulated, Fills) {
  Start();
  const CUdeviceptr address = Allocate(4096);
  ASSERT_OK(cuMemsetD8(address, 0xaa, 4096));
  ASSERT_OK(cuMemsetD16(address + 2, 0x0102, 1));
  ASSERT_OK(cuMemsetD32(address + 8, 0x01020304, 2));
  EXPECT_EQ(Read(address, 20),
            (std::vector<unsigned char>{0xaa, 0xaa, 2, 1, 0xaa, 0xaa, 0xaa, 0xaa, 4,    3,
                                        2,    1,    4, 3, 2,    1,    0xaa, 0xaa, 0xaa, 0xaa}));
  EXPECT_EQ(cuMemsetD32(address + 2, 0, 1), CUDA_ERROR_INVALID_VALUE) << "not aligned";
  ASSERT_OK(cuMemsetD2D8(address, 16, 1, 2, 2));
  EXPECT_EQ(Read(address, 4), (std::vector<unsigned char>{1, 1, 2, 1}));
  EXPECT_EQ(Read(address + 16, 3), (std::vector<unsigned char>{1, 1, 0xaa}));
}

TEST_F(Simulated, FillingWithZerosGivesPagesBack) {
  Start();
  const CUdeviceptr address = Allocate(64 * kMiB);
  ASSERT_OK(cuMemsetD8(address, 1, 64 * kMiB));
  ASSERT_OK(cuMemsetD8(address + 100, 0, 64 * kMiB - 200));
  EXPECT_EQ(Read(address + 99, 2), (std::vector<unsigned char>{1, 0}));
  EXPECT_EQ(Read(address + 64 * kMiB - 101, 2), (std::vector<unsigned char>{0, 1}));
  std::string word;
  std::ifstream status("/proc/self/status");
  size_t shared_kib = 0;
  while (status >> word) {
    if (word == "RssShmem:") status >> shared_kib;
  }
  EXPECT_LT(shared_kib, 2048u);
}

TEST_F(Simulated, Boxes) {
  Start();
  const auto bytes = Pattern(6 * 4);  // 4 rows of 6
  const CUdeviceptr address = Allocate(4 * 512);
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = bytes.data();
  copy.srcPitch = 6;
  copy.srcXInBytes = 1;
  copy.srcY = 1;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = address;
  copy.dstPitch = 512;
  copy.WidthInBytes = 3;
  copy.Height = 2;
  ASSERT_OK(cuMemcpy2D(&copy));
  EXPECT_EQ(Read(address, 3), (std::vector<unsigned char>{8, 9, 10}));
  EXPECT_EQ(Read(address + 512, 3), (std::vector<unsigned char>{14, 15, 16}));
  copy.dstPitch = 2;
  EXPECT_EQ(cuMemcpy2D(&copy), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpy2D(nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Simulated, Arrays) {
  Start();
  CUarray array = nullptr;
  const CUDA_ARRAY_DESCRIPTOR descriptor = {100, 10, CU_AD_FORMAT_FLOAT, 1};
  ASSERT_OK(cuArrayCreate(&array, &descriptor));
  CUDA_ARRAY_MEMORY_REQUIREMENTS requirements;
  ASSERT_OK(cuArrayGetMemoryRequirements(&requirements, array, 0));
  EXPECT_EQ(requirements.size, 4000u);
  EXPECT_EQ(Used(), 2 * kMiB);
  const auto bytes = Pattern(400);
  ASSERT_OK(cuMemcpyHtoA(array, 0, bytes.data(), 400));
  std::vector<unsigned char> back(100);
  ASSERT_OK(cuMemcpyAtoH(back.data(), array, 300, 100));
  EXPECT_EQ(back, std::vector<unsigned char>(bytes.begin() + 300, bytes.end()));
  EXPECT_EQ(cuMemcpyHtoA(array, 4, bytes.data(), 400), CUDA_ERROR_INVALID_VALUE);
  ASSERT_OK(cuArrayDestroy(array));
  EXPECT_EQ(cuArrayDestroy(array), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(Used(), 0u);
}

TEST_F(Simulated, ArraysOfThreeDimensionsAndLevels) {
  Start();
  CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
  descriptor.Width = 64;
  descriptor.Height = 32;
  descriptor.Depth = 4;
  descriptor.Format = CU_AD_FORMAT_HALF;
  descriptor.NumChannels = 4;
  CUarray array = nullptr;
  ASSERT_OK(cuArray3DCreate(&array, &descriptor));
  CUDA_ARRAY_MEMORY_REQUIREMENTS requirements;
  ASSERT_OK(cuArrayGetMemoryRequirements(&requirements, array, 0));
  EXPECT_EQ(requirements.size, 64u * 32 * 4 * 8);
  CUmipmappedArray mipmap = nullptr;
  ASSERT_OK(cuMipmappedArrayCreate(&mipmap, &descriptor, 99));
  CUarray level = nullptr;
  ASSERT_OK(cuMipmappedArrayGetLevel(&level, mipmap, 6));
  EXPECT_EQ(cuMipmappedArrayGetLevel(&level, mipmap, 7), CUDA_ERROR_INVALID_VALUE);
  CUDA_ARRAY3D_DESCRIPTOR smallest;
  ASSERT_OK(cuArray3DGetDescriptor(&smallest, level));
  EXPECT_EQ(smallest.Width, 1u);
  EXPECT_EQ(cuArrayDestroy(level), CUDA_ERROR_INVALID_HANDLE) << "it belongs to the mipmap";
  EXPECT_OK(cuMipmappedArrayDestroy(mipmap));
  descriptor.NumChannels = 3;
  EXPECT_EQ(cuArray3DCreate(&array, &descriptor), CUDA_ERROR_INVALID_VALUE);
  descriptor.NumChannels = 1;
  descriptor.Format = CU_AD_FORMAT_NV12;
  EXPECT_EQ(cuArray3DCreate(&array, &descriptor), CUDA_ERROR_NOT_SUPPORTED);
}

TEST_F(Simulated, SparseArraysTakeNothing) {
  Start();
  CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
  descriptor.Width = 4096;
  descriptor.Height = 4096;
  descriptor.Format = CU_AD_FORMAT_FLOAT;
  descriptor.NumChannels = 1;
  descriptor.Flags = CUDA_ARRAY3D_SPARSE;
  CUarray array = nullptr;
  ASSERT_OK(cuArray3DCreate(&array, &descriptor));
  EXPECT_EQ(Used(), 0u);
  EXPECT_OK(cuArrayDestroy(array));
}

}  // namespace
}  // namespace gputrace::sim

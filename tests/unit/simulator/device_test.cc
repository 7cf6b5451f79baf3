// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/simulator/simulated.h"

namespace gputrace::sim {
namespace {

TEST_F(Simulated, OrdinalsAreChecked) {
  ASSERT_OK(cuInit(0));
  CUdevice device = 0;
  size_t total = 0;
  EXPECT_EQ(cuDeviceGet(&device, 1), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuDeviceGet(&device, -1), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuDeviceTotalMem(&total, 1), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuDeviceGetCount(nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Simulated, DevicesHaveOneNameAndTheirOwnUuid) {
  Set({{"GPUSIM_DEVICES", "2"}});
  ASSERT_OK(cuInit(0));
  char first[64];
  char second[64];
  ASSERT_OK(cuDeviceGetName(first, sizeof(first), 0));
  ASSERT_OK(cuDeviceGetName(second, sizeof(second), 1));
  EXPECT_STREQ(first, second);
  char cut[5];
  ASSERT_OK(cuDeviceGetName(cut, sizeof(cut), 0));
  EXPECT_EQ(strlen(cut), 4u);
  CUuuid one;
  CUuuid two;
  ASSERT_OK(cuDeviceGetUuid(&one, 0));
  ASSERT_OK(cuDeviceGetUuid(&two, 1));
  EXPECT_NE(memcmp(&one, &two, sizeof(one)), 0);
}

TEST_F(Simulated, BusIdsLeadBackToTheirDevice) {
  Set({{"GPUSIM_DEVICES", "2"}});
  ASSERT_OK(cuInit(0));
  char id[32];
  ASSERT_OK(cuDeviceGetPCIBusId(id, sizeof(id), 1));
  EXPECT_STREQ(id, "0000:02:00.0");
  CUdevice device = 0;
  ASSERT_OK(cuDeviceGetByPCIBusId(&device, id));
  EXPECT_EQ(device, 1);
  EXPECT_EQ(cuDeviceGetByPCIBusId(&device, "0000:09:00.0"), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuDeviceGetByPCIBusId(&device, "x"), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Simulated, Attributes) {
  ASSERT_OK(cuInit(0));
  const auto value = [](CUdevice_attribute attribute) {
    int number = -99;
    EXPECT_OK(cuDeviceGetAttribute(&number, attribute, 0));
    return number;
  };
  EXPECT_EQ(value(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR), 9);
  EXPECT_EQ(value(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR), 0);
  EXPECT_EQ(value(CU_DEVICE_ATTRIBUTE_WARP_SIZE), 32);
  EXPECT_EQ(value(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED), 1);
  EXPECT_EQ(value(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_WIN32_HANDLE_SUPPORTED), 0);
  int number = 0;
  EXPECT_EQ(cuDeviceGetAttribute(&number, CU_DEVICE_ATTRIBUTE_MAX, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDeviceGetAttribute(nullptr, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Simulated, PeersCanReachEachOther) {
  Set({{"GPUSIM_DEVICES", "2"}});
  ASSERT_OK(cuInit(0));
  int can = -1;
  ASSERT_OK(cuDeviceCanAccessPeer(&can, 0, 1));
  EXPECT_EQ(can, 1);
  ASSERT_OK(cuDeviceCanAccessPeer(&can, 0, 0));
  EXPECT_EQ(can, 0);
}

TEST_F(Simulated, PrivateTablesAreNotThere) {
  const void* table = &table;
  const CUuuid id = {};
  EXPECT_EQ(cuGetExportTable(&table, &id), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(table, nullptr);
}

TEST_F(Simulated, ResultsHaveNamesAndTexts) {
  const char* text = nullptr;
  EXPECT_OK(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text));
  EXPECT_STREQ(text, "out of memory");
  EXPECT_EQ(cuGetErrorName(static_cast<CUresult>(12345), &text), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(text, nullptr);
}

}  // namespace
}  // namespace gputrace::sim

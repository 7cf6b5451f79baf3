// SPDX-License-Identifier: Apache-2.0
// What the environment says, before and at cuInit.
#include <sys/wait.h>

#include "tests/unit/simulator/simulated.h"

namespace gputrace::sim {
namespace {

size_t TotalOf(CUdevice device) {
  size_t total = 0;
  EXPECT_OK(cuDeviceTotalMem(&total, device));
  return total;
}

int DeviceCount() {
  int count = -1;
  EXPECT_OK(cuDeviceGetCount(&count));
  return count;
}

TEST_F(Simulated, NothingWorksBeforeInit) {
  int count = 0;
  CUdeviceptr address = 0;
  EXPECT_EQ(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(cuMemAlloc(&address, 1), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(cuMemAlloc(nullptr, 1), CUDA_ERROR_NOT_INITIALIZED);
  int version = 0;
  EXPECT_OK(cuDriverGetVersion(&version));
  EXPECT_EQ(version, 13050);
  const char* name = nullptr;
  EXPECT_OK(cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &name));
  EXPECT_STREQ(name, "CUDA_ERROR_OUT_OF_MEMORY");
}

TEST_F(Simulated, InitTakesNoFlagsAndMayBeRepeated) {
  EXPECT_EQ(cuInit(1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(cuInit(0));
  EXPECT_OK(cuInit(0));
}

TEST_F(Simulated, OneDeviceOf16GiBUnlessTold) {
  ASSERT_OK(cuInit(0));
  EXPECT_EQ(DeviceCount(), 1);
  EXPECT_EQ(TotalOf(0), 16 * kGiB);
}

TEST_F(Simulated, DevicesMayBeOfOneSize) {
  Set({{"GPUSIM_DEVICES", "3"}, {"GPUSIM_MEMORY", "80GiB"}});
  ASSERT_OK(cuInit(0));
  EXPECT_EQ(DeviceCount(), 3);
  EXPECT_EQ(TotalOf(2), 80 * kGiB);
}

TEST_F(Simulated, DevicesMayDiffer) {
  Set({{"GPUSIM_MEMORY", "16GiB,512MiB"}});
  ASSERT_OK(cuInit(0));
  EXPECT_EQ(DeviceCount(), 2);
  EXPECT_EQ(TotalOf(0), 16 * kGiB);
  EXPECT_EQ(TotalOf(1), 512 * kMiB);
}

TEST_F(Simulated, NoDevices) {
  Set({{"GPUSIM_DEVICES", "0"}});
  EXPECT_EQ(cuInit(0), CUDA_ERROR_NO_DEVICE);
}

TEST_F(Simulated, VisibleDevicesAreChosenAndOrdered) {
  Set({{"GPUSIM_MEMORY", "1GiB,2GiB,3GiB"}, {"CUDA_VISIBLE_DEVICES", "2,0"}});
  ASSERT_OK(cuInit(0));
  EXPECT_EQ(DeviceCount(), 2);
  EXPECT_EQ(TotalOf(0), 3 * kGiB);
  EXPECT_EQ(TotalOf(1), 1 * kGiB);
}

TEST_F(Simulated, DevicesAfterABadItemAreInvisible) {
  Set({{"GPUSIM_DEVICES", "3"}, {"CUDA_VISIBLE_DEVICES", "1,7,0"}});
  ASSERT_OK(cuInit(0));
  EXPECT_EQ(DeviceCount(), 1);
}

TEST_F(Simulated, NoVisibleDevices) {
  Set({{"CUDA_VISIBLE_DEVICES", ""}});
  EXPECT_EQ(cuInit(0), CUDA_ERROR_NO_DEVICE);
}

TEST_F(Simulated, DevicesAreVisibleByUuid) {
  // The text of the second card's UUID, as it is in every process.
  Set({{"GPUSIM_MEMORY", "1GiB,2GiB"},
       {"CUDA_VISIBLE_DEVICES", "GPU-67707574-7261-6365-2d67-70752d733031"}});
  ASSERT_OK(cuInit(0));
  EXPECT_EQ(DeviceCount(), 1);
  EXPECT_EQ(TotalOf(0), 2 * kGiB);
}

struct BadValue {
  const char* name;
  const char* value;
};
class BadVariable : public Simulated, public ::testing::WithParamInterface<BadValue> {};

TEST_P(BadVariable, IsSaidInOneLineAndRefused) {
  Set({{GetParam().name, GetParam().value}});
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(cuInit(0), CUDA_ERROR_INVALID_VALUE);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, ::testing::StartsWith(std::string("gpusim: ") + GetParam().name + "=" +
                                          GetParam().value));
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1);
}

INSTANTIATE_TEST_SUITE_P(
    All, BadVariable,
    ::testing::Values(BadValue{"GPUSIM_DEVICES", "many"}, BadValue{"GPUSIM_DEVICES", "65"},
                      BadValue{"GPUSIM_DEVICES", "-1"}, BadValue{"GPUSIM_MEMORY", "16GB"},
                      BadValue{"GPUSIM_MEMORY", "0"}, BadValue{"GPUSIM_MEMORY", "1GiB,"},
                      BadValue{"GPUSIM_VERSION", "10.1"}, BadValue{"GPUSIM_OTHER_USE", "-1"},
                      BadValue{"GPUSIM_FAIL", "cuMemAlloc_v2"},
                      BadValue{"GPUSIM_FAIL", "cuMemAlloc_v2:0=2"},
                      BadValue{"GPUSIM_FAIL", "cuMemAlloc_v2:p2=2"},
                      BadValue{"GPUSIM_FAIL", "cuMemAlloc_v2:1=0"}, BadValue{"GPUSIM_SEED", "x"},
                      BadValue{"GPUSIM_DISTINCT_POINTERS", "yes"}));

TEST_F(Simulated, SizesDisagreeWithTheNumberOfDevices) {
  Set({{"GPUSIM_DEVICES", "3"}, {"GPUSIM_MEMORY", "1GiB,2GiB"}});
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(cuInit(0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), ::testing::HasSubstr("GPUSIM_MEMORY"));
}

TEST_F(Simulated, AForkedChildCannotUseWhatItsParentInitialised) {
  Start();
  const pid_t child = fork();
  if (child == 0) {
    CUdeviceptr address = 0;
    const bool refused = cuMemAlloc(&address, 1) == CUDA_ERROR_NOT_INITIALIZED &&
                         cuInit(0) == CUDA_ERROR_NOT_INITIALIZED;
    _exit(refused ? 0 : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_NE(Allocate(1), 0u) << "the parent goes on";
}

TEST_F(Simulated, AChildForkedBeforeInitHasADriverOfItsOwn) {
  const pid_t child = fork();
  if (child == 0) _exit(cuInit(0));
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(Simulated, FailuresOnDemandByNumber) {
  Start({{"GPUSIM_FAIL", "cuMemAlloc_v2:3=2,cuMemFree_v2:1=999"}});
  CUdeviceptr address = 0;
  EXPECT_OK(cuMemAlloc(&address, 1));
  EXPECT_OK(cuMemAlloc(&address, 1));
  EXPECT_EQ(cuMemAlloc(&address, 1), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_OK(cuMemAlloc(&address, 1));
  EXPECT_EQ(cuMemFree(address), CUDA_ERROR_UNKNOWN);
  EXPECT_OK(cuMemFree(address));
}

TEST_F(Simulated, FailuresOnDemandByChance) {
  Start({{"GPUSIM_FAIL", "cuMemAlloc_v2:p0.25=2"}, {"GPUSIM_SEED", "7"}});
  int failed = 0;
  for (int i = 0; i < 1000; ++i) {
    CUdeviceptr address = 0;
    if (cuMemAlloc(&address, 1) == CUDA_ERROR_OUT_OF_MEMORY) ++failed;
  }
  EXPECT_NEAR(failed, 250, 60);
}

TEST_F(Simulated, OthersUse) {
  Start({{"GPUSIM_MEMORY", "1GiB"}, {"GPUSIM_OTHER_USE", "900MiB"}});
  // A card of 1 GiB has contexts of 16 MiB.
  EXPECT_EQ(Free(), 1 * kGiB - 900 * kMiB - 16 * kMiB);
  CUdeviceptr address = 0;
  EXPECT_EQ(cuMemAlloc(&address, 109 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_OK(cuMemAlloc(&address, 108 * kMiB));
  EXPECT_EQ(Free(), 0u);
}

}  // namespace
}  // namespace gputrace::sim

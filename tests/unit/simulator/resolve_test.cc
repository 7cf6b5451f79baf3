// SPDX-License-Identifier: Apache-2.0
// Which functions there are, and how they are found.
#include <dlfcn.h>

#include <set>

#include "tests/unit/simulator/simulated.h"

namespace gputrace::sim {
namespace {

class Resolving : public Simulated {
 protected:
  void* Exported(const char* symbol) { return dlsym(RTLD_DEFAULT, symbol); }

  void* Asked(const char* base, int version, cuuint64_t flags = 0,
              CUdriverProcAddressQueryResult* status = nullptr) {
    void* found = nullptr;
    CUdriverProcAddressQueryResult own;
    EXPECT_OK(cuGetProcAddress(base, &found, version, flags, status == nullptr ? &own : status));
    return found;
  }
};

TEST_F(Resolving, EveryEntryOfTheTableIsExported) {
  std::ifstream table(DRIVER_TABLE_FILE);
  std::string line;
  std::getline(table, line);
  int count = 0;
  while (std::getline(table, line)) {
    const std::string symbol = line.substr(0, line.find('\t'));
    EXPECT_NE(Exported(symbol.c_str()), nullptr) << symbol;
    ++count;
  }
  EXPECT_GT(count, 700);
}

TEST_F(Resolving, VersionsGetTheirOwnSymbols) {
  EXPECT_EQ(Asked("cuMemAlloc", 2000), Exported("cuMemAlloc"));
  EXPECT_EQ(Asked("cuMemAlloc", 3020), Exported("cuMemAlloc_v2"));
  EXPECT_EQ(Asked("cuMemAlloc", 13050), Exported("cuMemAlloc_v2"));
  EXPECT_EQ(Asked("cuDevicePrimaryCtxReset", 7000), Exported("cuDevicePrimaryCtxReset"));
  EXPECT_EQ(Asked("cuDevicePrimaryCtxReset", 11000), Exported("cuDevicePrimaryCtxReset_v2"));
  EXPECT_EQ(Asked("cuCtxCreate", 3020), Exported("cuCtxCreate_v2"));
  EXPECT_EQ(Asked("cuCtxCreate", 12050), Exported("cuCtxCreate_v4"));
  EXPECT_EQ(Asked("cuCtxGetDevice", 12000), Exported("cuCtxGetDevice"));
  EXPECT_EQ(Asked("cuCtxGetDevice", 13000), Exported("cuCtxGetDevice_v2"));
  EXPECT_EQ(Asked("cuGetProcAddress", 11030), Exported("cuGetProcAddress"));
  EXPECT_EQ(Asked("cuGetProcAddress", 12000), Exported("cuGetProcAddress_v2"));
  EXPECT_EQ(Asked("cuGraphInstantiate", 11000), Exported("cuGraphInstantiate_v2"));
  EXPECT_EQ(Asked("cuGraphInstantiate", 12000), Exported("cuGraphInstantiateWithFlags"));
}

TEST_F(Resolving, KindsOfDefaultStreams) {
  constexpr cuuint64_t kLegacy = CU_GET_PROC_ADDRESS_LEGACY_STREAM;
  constexpr cuuint64_t kPerThread = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  EXPECT_EQ(Asked("cuMemAllocAsync", 11020, kPerThread), Exported("cuMemAllocAsync_ptsz"));
  EXPECT_EQ(Asked("cuMemAllocAsync", 11020, kLegacy), Exported("cuMemAllocAsync"));
  EXPECT_EQ(Asked("cuMemcpyHtoD", 7000, kPerThread), Exported("cuMemcpyHtoD_v2_ptds"));
  EXPECT_EQ(Asked("cuMemAlloc", 3020, kPerThread), Exported("cuMemAlloc_v2"))
      << "it has no such twin";
  void* found = nullptr;
  EXPECT_EQ(cuGetProcAddress("cuInit", &found, 2000, kLegacy | kPerThread, nullptr),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Resolving, WhatIsNotThere) {
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
  EXPECT_EQ(Asked("cuMemAllocAsync", 11010, 0, &status), nullptr);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
  EXPECT_EQ(Asked("cuMemAllocXyz", 13000, 0, &status), nullptr);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  void* found = &found;
  EXPECT_EQ(cuGetProcAddress("", &found, 0, 0, nullptr), CUDA_ERROR_NOT_FOUND) << "not 34: no stub";
  EXPECT_EQ(found, nullptr);
  EXPECT_EQ(cuGetProcAddress("cuInit", &found, 99000, 0, &status), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGetProcAddress(nullptr, &found, 2000, 0, &status), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Resolving, TheFirstVersionOfTheResolverTakesFourArguments) {
  const auto first = reinterpret_cast<CUresult (*)(const char*, void**, int, cuuint64_t)>(
      Exported("cuGetProcAddress"));
  void* found = nullptr;
  EXPECT_OK(first("cuMemFree", &found, 3020, 0));
  EXPECT_EQ(found, Exported("cuMemFree_v2"));
  EXPECT_EQ(first("cuMemFreeXyz", &found, 3020, 0), CUDA_ERROR_NOT_FOUND);
}

TEST_F(Resolving, AnswersMayBeOtherAddressesThanExports) {
  Start({{"GPUSIM_DISTINCT_POINTERS", "1"}});
  void* found = Asked("cuMemAlloc", 3020);
  EXPECT_NE(found, Exported("cuMemAlloc_v2"));
  CUdeviceptr address = 0;
  EXPECT_OK(reinterpret_cast<decltype(&cuMemAlloc)>(found)(&address, 100));
  EXPECT_OK(cuMemFree(address));
}

TEST_F(Resolving, OlderDriversKnowLess) {
  Set({{"GPUSIM_VERSION", "11.4"}});
  int version = 0;
  ASSERT_OK(cuDriverGetVersion(&version));
  EXPECT_EQ(version, 11040);
  EXPECT_NE(Asked("cuMemAllocAsync", 11020), nullptr);
  CUdriverProcAddressQueryResult status;
  EXPECT_EQ(Asked("cuLibraryLoadData", 11040, 0, &status), nullptr);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  void* found = nullptr;
  EXPECT_EQ(cuGetProcAddress("cuLibraryLoadData", &found, 12000, 0, &status),
            CUDA_ERROR_INVALID_VALUE);
}

class Profiles : public ::testing::TestWithParam<std::pair<const char*, int>> {};

TEST_P(Profiles, HaveALibraryOfTheirOwn) {
  const auto [name, version] = GetParam();
  const std::string path = std::string(SIMULATOR_FOLDER) + "/" + name + "/libcuda.so.1";
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  int reported = 0;
  reinterpret_cast<decltype(&cuDriverGetVersion)>(dlsym(library, "cuDriverGetVersion"))(&reported);
  EXPECT_EQ(reported, version);
  std::ifstream table(DRIVER_TABLE_FILE);
  std::string line;
  std::getline(table, line);
  while (std::getline(table, line)) {
    std::istringstream columns(line);
    std::string symbol;
    std::string skipped;
    int since = 0;
    columns >> symbol >> skipped >> skipped >> skipped >> since;
    EXPECT_EQ(dlsym(library, symbol.c_str()) != nullptr, since <= version) << symbol;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Profiles,
                         ::testing::Values(std::pair("11.4", 11040), std::pair("12.2", 12020),
                                           std::pair("12.8", 12080), std::pair("13.0", 13000)));

}  // namespace
}  // namespace gputrace::sim

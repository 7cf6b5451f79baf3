// SPDX-License-Identifier: Apache-2.0
// A process on the stand-in driver. The driver reads its environment once, so each test is a
// process of its own, as ctest runs them.
#ifndef GPUTRACE_TESTS_UNIT_SIMULATOR_SIMULATED_H_
#define GPUTRACE_TESTS_UNIT_SIMULATOR_SIMULATED_H_

#include <cuda.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace gputrace::sim {

inline constexpr size_t kKiB = 1024;
inline constexpr size_t kMiB = 1024 * kKiB;
inline constexpr size_t kGiB = 1024 * kMiB;

#define ASSERT_OK(call) ASSERT_EQ(call, CUDA_SUCCESS)
#define EXPECT_OK(call) EXPECT_EQ(call, CUDA_SUCCESS)

class Simulated : public ::testing::Test {
 protected:
  using Variables = std::vector<std::pair<const char*, std::string>>;

  static void Set(const Variables& variables) {
    for (const auto& [name, value] : variables) setenv(name, value.c_str(), 1);
  }

  // Makes the primary context of device 0 current.
  void Start(const Variables& variables = {}) {
    Set(variables);
    ASSERT_OK(cuInit(0));
    ASSERT_OK(cuDevicePrimaryCtxRetain(&context_, 0));
    ASSERT_OK(cuCtxSetCurrent(context_));
    idle_ = Free();
  }

  static size_t Free() {
    size_t free = 0;
    size_t total = 0;
    EXPECT_OK(cuMemGetInfo(&free, &total));
    return free;
  }
  // Bytes of the device taken since the start.
  size_t Used() const { return idle_ - Free(); }

  static CUdeviceptr Allocate(size_t size) {
    CUdeviceptr address = 0;
    EXPECT_OK(cuMemAlloc(&address, size));
    return address;
  }

  static std::string TemporaryFile(const std::string& name) {
    return (std::filesystem::temp_directory_path() /
            ("gpusim." + std::to_string(getpid()) + "." + name))
        .string();
  }

  static std::string Contents(const std::string& path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

  CUcontext context_ = nullptr;
  size_t idle_ = 0;
};

}  // namespace gputrace::sim

#endif  // GPUTRACE_TESTS_UNIT_SIMULATOR_SIMULATED_H_

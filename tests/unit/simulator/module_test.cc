// SPDX-License-Identifier: Apache-2.0
// Modules, libraries, functions, launches.
#include "tests/unit/simulator/simulated.h"

namespace gputrace::sim {
namespace {

constexpr char kPtx[] = R"(// A comment in front.
.version 8.0
.target sm_90
.address_size 64
.visible .global .align 4 .b8 table[1000];
.const .align 8 .f64 scale;
.global .align 4 .u32 matrix[3][4];
.visible .entry add(.param .u64 a) { ret; }
/* .entry hidden() */
.visible .entry multiply() { ret; }
)";

class Modules : public Simulated {
 protected:
  static CUmodule Load() {
    CUmodule module = nullptr;
    EXPECT_OK(cuModuleLoadData(&module, kPtx));
    return module;
  }
};

TEST_F(Modules, FunctionsOfPtx) {
  Start();
  const CUmodule module = Load();
  unsigned count = 0;
  ASSERT_OK(cuModuleGetFunctionCount(&count, module));
  EXPECT_EQ(count, 2u);
  CUfunction function = nullptr;
  ASSERT_OK(cuModuleGetFunction(&function, module, "add"));
  const char* name = nullptr;
  ASSERT_OK(cuFuncGetName(&name, function));
  EXPECT_STREQ(name, "add");
  EXPECT_EQ(cuModuleGetFunction(&function, module, "hidden"), CUDA_ERROR_NOT_FOUND);
}

TEST_F(Modules, VariablesOfPtx) {
  Start();
  const CUmodule module = Load();
  CUdeviceptr address = 0;
  size_t size = 0;
  ASSERT_OK(cuModuleGetGlobal(&address, &size, module, "table"));
  EXPECT_EQ(size, 1000u);
  EXPECT_OK(cuMemsetD8(address, 1, size));
  EXPECT_EQ(cuMemsetD8(address, 1, size + 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFree(address), CUDA_ERROR_INVALID_VALUE);
  ASSERT_OK(cuModuleGetGlobal(&address, &size, module, "scale"));
  EXPECT_EQ(size, 8u);
  ASSERT_OK(cuModuleGetGlobal(nullptr, &size, module, "matrix"));
  EXPECT_EQ(size, 48u);
  EXPECT_EQ(cuModuleGetGlobal(&address, &size, module, "none"), CUDA_ERROR_NOT_FOUND);
}

TEST_F(Modules, TakeMemoryUntilTheyAreUnloaded) {
  Start();
  const CUmodule module = Load();
  EXPECT_EQ(Used(), 2 * kMiB);
  ASSERT_OK(cuModuleUnload(module));
  EXPECT_EQ(Used(), 0u);
  EXPECT_EQ(cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Modules, BadImages) {
  Start();
  CUmodule module = nullptr;
  EXPECT_EQ(cuModuleLoadData(&module, "not an image"), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(cuModuleLoadData(&module, ""), CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(cuModuleLoadData(&module, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuModuleLoad(&module, "/nowhere/x.cubin"), CUDA_ERROR_FILE_NOT_FOUND);
}

TEST_F(Modules, FilesAreLoaded) {
  const std::string journal = TemporaryFile("journal");
  Start({{"GPUSIM_JOURNAL", journal}});
  const std::string path = TemporaryFile("x.ptx");
  std::ofstream(path) << kPtx;
  CUmodule module = nullptr;
  EXPECT_OK(cuModuleLoad(&module, path.c_str()));
  const std::string size = "\"size\":" + std::to_string(std::filesystem::file_size(path));
  EXPECT_THAT(Contents(journal), ::testing::HasSubstr(size));
  std::filesystem::remove(journal);
  std::filesystem::remove(path);
}

TEST_F(Modules, ContainersAreBelieved) {
  Start();
  struct {
    unsigned magic = 0xba55ed50;
    unsigned short version = 1;
    unsigned short header_size = 16;
    unsigned long long size = 3 * kMiB;
  } container;
  CUmodule module = nullptr;
  ASSERT_OK(cuModuleLoadFatBinary(&module, &container));
  EXPECT_EQ(Used(), 4 * kMiB);
  CUfunction function = nullptr;
  EXPECT_OK(cuModuleGetFunction(&function, module, "whatever"));
  CUdeviceptr address = 0;
  size_t size = 0;
  EXPECT_OK(cuModuleGetGlobal(&address, &size, module, "whatever"));
  EXPECT_GT(size, 0u);
}

TEST_F(Modules, LibrariesAreLoadedWhereTheyAreUsed) {
  Start();
  CUlibrary library = nullptr;
  // Values of options may be missing.
  CUlibraryOption option = CU_LIBRARY_BINARY_IS_PRESERVED;
  ASSERT_OK(cuLibraryLoadData(&library, kPtx, nullptr, nullptr, 0, &option, nullptr, 1));
  EXPECT_EQ(Used(), 0u);
  CUkernel kernel = nullptr;
  ASSERT_OK(cuLibraryGetKernel(&kernel, library, "multiply"));
  EXPECT_EQ(cuLibraryGetKernel(&kernel, library, "none"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(Used(), 0u);
  EXPECT_OK(cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), 1, 1, 1, 32, 1, 1, 0, nullptr,
                           nullptr, nullptr));
  EXPECT_EQ(Used(), 2 * kMiB);
  CUfunction function = nullptr;
  ASSERT_OK(cuKernelGetFunction(&function, kernel));
  CUmodule module = nullptr;
  ASSERT_OK(cuFuncGetModule(&module, function));
  EXPECT_EQ(cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE) << "it is the library's";
  size_t size = 0;
  ASSERT_OK(cuLibraryGetGlobal(nullptr, &size, library, "table"));
  EXPECT_EQ(size, 1000u);
  ASSERT_OK(cuLibraryUnload(library));
  EXPECT_EQ(Used(), 0u);
}

TEST_F(Modules, Launches) {
  Start();
  CUfunction function = nullptr;
  ASSERT_OK(cuModuleGetFunction(&function, Load(), "add"));
  const auto launch = [](CUfunction f, unsigned grid, unsigned block) {
    return cuLaunchKernel(f, grid, 1, 1, block, 1, 1, 0, nullptr, nullptr, nullptr);
  };
  EXPECT_OK(launch(function, 10, 1024));
  EXPECT_EQ(launch(function, 10, 1025), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(function, 0, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(nullptr, 1, 1), CUDA_ERROR_INVALID_HANDLE);
  int value = 0;
  ASSERT_OK(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100000));
  ASSERT_OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function));
  EXPECT_EQ(value, 100000);
  EXPECT_EQ(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_NUM_REGS, 1), CUDA_ERROR_INVALID_VALUE);
  int blocks = 0;
  ASSERT_OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 256, 0));
  EXPECT_EQ(blocks, 8);
}

}  // namespace
}  // namespace gputrace::sim

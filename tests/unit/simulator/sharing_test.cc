// SPDX-License-Identifier: Apache-2.0
// Several processes. Children start before the driver does and are told by pipes what to do.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "tests/unit/simulator/simulated.h"

namespace gputrace::sim {
namespace {

// A child process that gets one message and answers with its exit code.
template <typename Message>
class Child {
 public:
  explicit Child(const std::function<int(const Message&)>& program) {
    EXPECT_EQ(pipe(pipe_), 0);
    child_ = fork();
    if (child_ != 0) return;
    Message message;
    const bool got = read(pipe_[0], &message, sizeof(message)) == sizeof(message);
    _exit(got ? program(message) : 99);
  }

  int Tell(const Message& message) {
    EXPECT_EQ(write(pipe_[1], &message, sizeof(message)), static_cast<ssize_t>(sizeof(message)));
    int status = 0;
    waitpid(child_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  int pipe_[2];
  pid_t child_;
};

class Sharing : public Simulated {
 protected:
  // Each step has a number, so that a child's exit code says which one failed.
  static bool StartChild() {
    CUcontext context = nullptr;
    return cuInit(0) == CUDA_SUCCESS && cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS &&
           cuCtxSetCurrent(context) == CUDA_SUCCESS;
  }
};

TEST_F(Sharing, MemoryByIpcHandle) {
  Child<CUipcMemHandle> child([](const CUipcMemHandle& handle) {
    if (!StartChild()) return 1;
    CUdeviceptr first = 0;
    CUdeviceptr second = 0;
    if (cuIpcOpenMemHandle(&first, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) != CUDA_SUCCESS)
      return 2;
    if (cuIpcOpenMemHandle(&second, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) != CUDA_SUCCESS)
      return 3;
    if (first != second) return 4;
    unsigned char byte = 0;
    if (cuMemcpyDtoH(&byte, first + 999, 1) != CUDA_SUCCESS || byte != 5) return 5;
    if (cuMemsetD8(first, 6, 1) != CUDA_SUCCESS) return 6;
    if (cuMemFree(first) != CUDA_ERROR_INVALID_VALUE) return 7;
    if (cuIpcCloseMemHandle(first) != CUDA_SUCCESS) return 8;
    if (cuMemcpyDtoH(&byte, first, 1) != CUDA_SUCCESS) return 9;
    if (cuIpcCloseMemHandle(first) != CUDA_SUCCESS) return 10;
    if (cuIpcCloseMemHandle(first) != CUDA_ERROR_INVALID_VALUE) return 11;
    return 0;
  });
  Start();
  Allocate(700);
  const CUdeviceptr address = Allocate(1000);
  ASSERT_OK(cuMemsetD8(address, 5, 1000));
  CUipcMemHandle handle;
  ASSERT_OK(cuIpcGetMemHandle(&handle, address));
  CUdeviceptr own = 0;
  EXPECT_EQ(cuIpcOpenMemHandle(&own, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
            CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(child.Tell(handle), 0);
  unsigned char byte = 0;
  ASSERT_OK(cuMemcpyDtoH(&byte, address, 1));
  EXPECT_EQ(byte, 6);
  EXPECT_EQ(cuIpcGetMemHandle(&handle, 0x1000), CUDA_ERROR_INVALID_VALUE);
}

struct FileOfProcess {
  pid_t process;
  int file;
};

TEST_F(Sharing, PhysicalMemoryByFileDescriptor) {
  Child<FileOfProcess> child([](const FileOfProcess& from) {
    const std::string path =
        "/proc/" + std::to_string(from.process) + "/fd/" + std::to_string(from.file);
    const int file = open(path.c_str(), O_RDWR);
    if (!StartChild() || file < 0) return 1;
    CUmemGenericAllocationHandle handle = 0;
    if (cuMemImportFromShareableHandle(&handle, reinterpret_cast<void*>(intptr_t{file}),
                                       CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != CUDA_SUCCESS) {
      return 2;
    }
    CUdeviceptr address = 0;
    if (cuMemAddressReserve(&address, 2 * kMiB, 0, 0, 0) != CUDA_SUCCESS) return 3;
    if (cuMemMap(address, 2 * kMiB, 0, handle, 0) != CUDA_SUCCESS) return 4;
    const CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, {0}},
                                    CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    if (cuMemSetAccess(address, 2 * kMiB, &access, 1) != CUDA_SUCCESS) return 5;
    unsigned char byte = 0;
    if (cuMemcpyDtoH(&byte, address, 1) != CUDA_SUCCESS || byte != 8) return 6;
    size_t free = 0;
    size_t total = 0;
    cuMemGetInfo(&free, &total);
    return total - free == 256 * kMiB ? 0 : 7;
  });
  Start();
  CUmemAllocationProp props = {};
  props.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  props.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CUmemGenericAllocationHandle handle = 0;
  ASSERT_OK(cuMemCreate(&handle, 2 * kMiB, &props, 0));
  CUdeviceptr address = 0;
  ASSERT_OK(cuMemAddressReserve(&address, 2 * kMiB, 0, 0, 0));
  ASSERT_OK(cuMemMap(address, 2 * kMiB, 0, handle, 0));
  const CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, {0}},
                                  CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  ASSERT_OK(cuMemSetAccess(address, 2 * kMiB, &access, 1));
  ASSERT_OK(cuMemsetD8(address, 8, 2 * kMiB));
  FileOfProcess file = {getpid(), -1};
  ASSERT_OK(cuMemExportToShareableHandle(&file.file, handle,
                                         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  EXPECT_EQ(child.Tell(file), 0);
}

struct PoolMessage {
  FileOfProcess pool;
  CUmemPoolPtrExportData pointer;
};

TEST_F(Sharing, PoolsByFileDescriptor) {
  Child<PoolMessage> child([](const PoolMessage& message) {
    const std::string path = "/proc/" + std::to_string(message.pool.process) + "/fd/" +
                             std::to_string(message.pool.file);
    const int file = open(path.c_str(), O_RDWR);
    if (!StartChild() || file < 0) return 1;
    CUmemoryPool pool = nullptr;
    if (cuMemPoolImportFromShareableHandle(&pool, reinterpret_cast<void*>(intptr_t{file}),
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                           0) != CUDA_SUCCESS) {
      return 2;
    }
    CUdeviceptr address = 0;
    if (cuMemAllocFromPoolAsync(&address, 1, pool, nullptr) != CUDA_ERROR_INVALID_VALUE) return 3;
    CUmemPoolPtrExportData pointer = message.pointer;
    if (cuMemPoolImportPointer(&address, pool, &pointer) != CUDA_SUCCESS) return 4;
    unsigned char byte = 0;
    if (cuMemcpyDtoH(&byte, address, 1) != CUDA_SUCCESS || byte != 3) return 5;
    return cuMemFreeAsync(address, nullptr) == CUDA_SUCCESS ? 0 : 6;
  });
  Start();
  CUmemPoolProps props = {};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  props.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CUmemoryPool pool = nullptr;
  ASSERT_OK(cuMemPoolCreate(&pool, &props));
  CUdeviceptr address = 0;
  ASSERT_OK(cuMemAllocFromPoolAsync(&address, 1000, pool, nullptr));
  ASSERT_OK(cuMemsetD8(address, 3, 1000));
  PoolMessage message = {{getpid(), -1}, {}};
  ASSERT_OK(cuMemPoolExportToShareableHandle(&message.pool.file, pool,
                                             CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  ASSERT_OK(cuMemPoolExportPointer(&message.pointer, address));
  EXPECT_EQ(child.Tell(message), 0);
}

TEST_F(Sharing, ASessionSharesTheCard) {
  const std::string folder = TemporaryFile("session");
  Set({{"GPUSIM_SESSION", folder}, {"GPUSIM_MEMORY", "1GiB"}});
  Child<int> child([](int) {
    if (!StartChild()) return 1;
    size_t free = 0;
    size_t total = 0;
    cuMemGetInfo(&free, &total);
    // Two contexts of 16 MiB and what the parent holds.
    if (total - free != 100 * kMiB + 32 * kMiB) return 2;
    CUdeviceptr address = 0;
    if (cuMemAlloc(&address, 950 * kMiB) != CUDA_ERROR_OUT_OF_MEMORY) return 3;
    if (cuMemAlloc(&address, 800 * kMiB) != CUDA_SUCCESS) return 4;
    kill(getpid(), SIGKILL);
    return 5;
  });
  Start();
  Allocate(100 * kMiB);
  EXPECT_EQ(child.Tell(0), -1);
  EXPECT_EQ(Used(), 100 * kMiB) << "what was killed holds nothing";
  std::filesystem::remove_all(folder);
}

TEST_F(Sharing, ASessionThatCannotBe) {
  Set({{"GPUSIM_SESSION", "/proc/nowhere"}});
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(cuInit(0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              ::testing::HasSubstr("GPUSIM_SESSION=/proc/nowhere"));
}

TEST_F(Sharing, ExternalMemory) {
  Start();
  const int file = memfd_create("external", 0);
  ASSERT_EQ(ftruncate(file, 2 * kMiB), 0);
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC description = {};
  description.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
  description.handle.fd = dup(file);
  description.size = 2 * kMiB;
  CUexternalMemory memory = nullptr;
  ASSERT_OK(cuImportExternalMemory(&memory, &description));
  CUDA_EXTERNAL_MEMORY_BUFFER_DESC buffer = {};
  buffer.size = 1000;
  CUdeviceptr address = 0;
  ASSERT_OK(cuExternalMemoryGetMappedBuffer(&address, memory, &buffer));
  ASSERT_OK(cuMemsetD8(address, 4, 1000));
  unsigned char byte = 0;
  EXPECT_EQ(pread(file, &byte, 1, 999), 1);
  EXPECT_EQ(byte, 4);
  EXPECT_EQ(Used(), 0u);
  EXPECT_OK(cuMemFree(address));
  EXPECT_OK(cuDestroyExternalMemory(memory));
  EXPECT_EQ(cuDestroyExternalMemory(memory), CUDA_ERROR_INVALID_HANDLE);
  description.handle.fd = dup(file);
  ASSERT_OK(cuImportExternalMemory(&memory, &description));
  ASSERT_OK(cuDevicePrimaryCtxReset(0));
  EXPECT_EQ(fcntl(description.handle.fd, F_GETFD), -1) << "it ends with its context";
}

}  // namespace
}  // namespace gputrace::sim

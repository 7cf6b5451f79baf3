// SPDX-License-Identifier: Apache-2.0
// Streams, events, host functions: order.
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "tests/unit/simulator/simulated.h"

namespace gputrace::sim {
namespace {

using namespace std::chrono_literals;

CUstream NewStream(unsigned flags = CU_STREAM_DEFAULT) {
  CUstream stream = nullptr;
  EXPECT_OK(cuStreamCreate(&stream, flags));
  return stream;
}

// Holds up a stream until it is let go, which the stream's thread notices later than the test.
class Gate {
 public:
  explicit Gate(CUstream stream) {
    EXPECT_OK(cuLaunchHostFunc(
        stream,
        [](void* open) {
          const std::unique_ptr<Shared> shared(static_cast<Shared*>(open));
          while (!(*shared)->load()) std::this_thread::sleep_for(1ms);
        },
        new Shared(open_)));
  }
  ~Gate() { Open(); }
  void Open() { *open_ = true; }

 private:
  using Shared = std::shared_ptr<std::atomic<bool>>;

  Shared open_ = std::make_shared<std::atomic<bool>>(false);
};

TEST_F(Simulated, StreamsHaveProperties) {
  Start();
  CUstream stream = nullptr;
  ASSERT_OK(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, -99));
  int priority = 0;
  ASSERT_OK(cuStreamGetPriority(stream, &priority));
  EXPECT_EQ(priority, -5);
  unsigned flags = 0;
  ASSERT_OK(cuStreamGetFlags(stream, &flags));
  EXPECT_EQ(flags, static_cast<unsigned>(CU_STREAM_NON_BLOCKING));
  CUcontext context = nullptr;
  ASSERT_OK(cuStreamGetCtx(stream, &context));
  EXPECT_EQ(context, context_);
  unsigned long long first = 0;
  unsigned long long second = 0;
  ASSERT_OK(cuStreamGetId(stream, &first));
  ASSERT_OK(cuStreamGetId(NewStream(), &second));
  EXPECT_NE(first, second);
  EXPECT_EQ(cuStreamCreate(&stream, 8), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamCreate(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Simulated, DestroyedStreamsAreUnknown) {
  Start();
  const CUstream stream = NewStream();
  ASSERT_OK(cuStreamDestroy(stream));
  EXPECT_EQ(cuStreamSynchronize(stream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuStreamDestroy(stream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuStreamDestroy(nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_OK(cuStreamSynchronize(nullptr));
  EXPECT_OK(cuStreamSynchronize(CU_STREAM_LEGACY));
  EXPECT_OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
}

TEST_F(Simulated, WorkWaitsForHostFunctions) {
  Start();
  const CUstream stream = NewStream();
  void* host = nullptr;
  ASSERT_OK(cuMemHostAlloc(&host, 1, 0));
  auto* byte = static_cast<volatile char*>(host);
  *byte = 1;
  {
    Gate gate(stream);
    EXPECT_OK(cuMemsetD8Async(reinterpret_cast<CUdeviceptr>(host), 2, 1, stream));
    EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(*byte, 1);
  }
  EXPECT_OK(cuStreamSynchronize(stream));
  EXPECT_EQ(*byte, 2);
  EXPECT_OK(cuStreamQuery(stream));
}

TEST_F(Simulated, EventsOrderStreams) {
  Start();
  const CUstream one = NewStream(CU_STREAM_NON_BLOCKING);
  const CUstream other = NewStream(CU_STREAM_NON_BLOCKING);
  CUevent event = nullptr;
  ASSERT_OK(cuEventCreate(&event, 0));
  EXPECT_OK(cuEventQuery(event)) << "never recorded: nothing to wait for";
  Gate gate(one);
  EXPECT_OK(cuEventRecord(event, one));
  EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_NOT_READY);
  EXPECT_OK(cuStreamWaitEvent(other, event, 0));
  EXPECT_EQ(cuStreamQuery(other), CUDA_ERROR_NOT_READY);
  gate.Open();
  EXPECT_OK(cuStreamSynchronize(other));
  EXPECT_OK(cuEventQuery(event));
}

TEST_F(Simulated, TheLegacyStreamWaitsForBlockingOnes) {
  Start();
  const CUstream blocking = NewStream();
  const CUstream independent = NewStream(CU_STREAM_NON_BLOCKING);
  Gate gate(blocking);
  EXPECT_OK(cuLaunchHostFunc(
      nullptr, [](void*) {}, nullptr));
  EXPECT_EQ(cuStreamQuery(nullptr), CUDA_ERROR_NOT_READY);
  EXPECT_OK(cuStreamQuery(independent));
  gate.Open();
  EXPECT_OK(cuCtxSynchronize());
  EXPECT_OK(cuStreamQuery(nullptr));
}

TEST_F(Simulated, CallbacksKnowTheirStream) {
  Start();
  const CUstream stream = NewStream();
  CUstream seen = nullptr;
  ASSERT_OK(cuStreamAddCallback(
      stream, [](CUstream which, CUresult, void* data) { *static_cast<CUstream*>(data) = which; },
      &seen, 0));
  ASSERT_OK(cuStreamSynchronize(stream));
  EXPECT_EQ(seen, stream);
}

TEST_F(Simulated, FreesWaitForTheWorkThatUsesTheMemory) {
  Start();
  const CUstream stream = NewStream();
  const CUdeviceptr address = Allocate(kMiB);
  Gate gate(stream);
  EXPECT_OK(cuMemsetD8Async(address, 1, kMiB, stream));
  std::thread opener([&gate] {
    std::this_thread::sleep_for(20ms);
    gate.Open();
  });
  EXPECT_OK(cuMemFree(address));
  EXPECT_OK(cuStreamQuery(stream));
  opener.join();
}

TEST_F(Simulated, TimeBetweenEvents) {
  Start();
  CUevent start = nullptr;
  CUevent end = nullptr;
  CUevent untimed = nullptr;
  ASSERT_OK(cuEventCreate(&start, 0));
  ASSERT_OK(cuEventCreate(&end, 0));
  ASSERT_OK(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
  float milliseconds = 0;
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, start, end), CUDA_ERROR_INVALID_HANDLE)
      << "not recorded";
  ASSERT_OK(cuEventRecord(start, nullptr));
  std::this_thread::sleep_for(5ms);
  ASSERT_OK(cuEventRecord(end, nullptr));
  ASSERT_OK(cuEventRecord(untimed, nullptr));
  ASSERT_OK(cuEventElapsedTime(&milliseconds, start, end));
  EXPECT_GE(milliseconds, 5);
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, start, untimed), CUDA_ERROR_INVALID_HANDLE);
  ASSERT_OK(cuEventDestroy(start));
  EXPECT_EQ(cuEventDestroy(start), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Simulated, ValuesAreWrittenInOrder) {
  Start();
  const CUdeviceptr address = Allocate(8);
  ASSERT_OK(cuStreamWriteValue32(nullptr, address, 17, 0));
  ASSERT_OK(cuStreamWriteValue32(nullptr, address + 4, 18, 0));
  unsigned values[2] = {};
  ASSERT_OK(cuMemcpyDtoH(values, address, 8));
  EXPECT_THAT(values, ::testing::ElementsAre(17u, 18u));
  EXPECT_EQ(cuStreamWriteValue32(nullptr, address + 1, 0, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Simulated, HostFunctionsMayMakeNoCalls) {
  Start();
  static CUresult result;
  result = CUDA_SUCCESS;
  static void* memory;
  ASSERT_OK(cuMemHostAlloc(&memory, 4096, 0));
  EXPECT_OK(cuLaunchHostFunc(
      nullptr, [](void*) { result = cuMemFreeHost(memory); }, nullptr));
  EXPECT_OK(cuCtxSynchronize());
  EXPECT_EQ(result, CUDA_ERROR_NOT_PERMITTED);
  EXPECT_OK(cuMemFreeHost(memory));
}

}  // namespace
}  // namespace gputrace::sim

// SPDX-License-Identifier: Apache-2.0
// Stream-ordered memory: freed, and then?
#include <initializer_list>
#include <thread>
#include <vector>

#include "tests/workloads/patterns/patterns.h"

namespace {

constexpr size_t kBlock = kMiB;

CUstream NewStream(unsigned flags = CU_STREAM_NON_BLOCKING) {
  CUstream stream = nullptr;
  CHECK(cuStreamCreate(&stream, flags));
  return stream;
}

[[gnu::noinline]] CUdeviceptr AllocateBlock(CUstream stream, size_t size = kBlock) {
  CUdeviceptr address = 0;
  CHECK(cuMemAllocAsync(&address, size, stream));
  KeepFrame();
  return address;
}

void AllocateAndFree(CUstream allocating, CUstream freeing) {
  CHECK(cuMemFreeAsync(AllocateBlock(allocating), freeing));
}

// Blocks of a stream are freed on the legacy one, which nobody waits for.
void UnusedStream(bool healthy) {
  UsePrimary();
  const CUstream stream = NewStream();
  for (int i = 0; i < 16; ++i) AllocateAndFree(stream, healthy ? stream : nullptr);
  if (healthy) CHECK(cuStreamSynchronize(stream));
  if (!healthy) CHECK(cuStreamSynchronize(stream));  // of the wrong one
}

// The same with streams that the legacy one is ordered with: there it is enough.
void BlockingStreams(bool) {
  UsePrimary();
  const CUstream stream = NewStream(CU_STREAM_DEFAULT);
  for (int i = 0; i < 16; ++i) AllocateAndFree(stream, nullptr);
  CHECK(cuStreamSynchronize(stream));
}

void NoSynchronisation(bool healthy) {
  UsePrimary();
  const CUstream stream = NewStream();
  AllocateAndFree(stream, stream);
  if (healthy) CHECK(cuStreamQuery(stream));
}

// Evidence of each kind, one after the other.
void Evidence(bool healthy) {
  UsePrimary();
  CUevent event = nullptr;
  CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  const CUstream streams[] = {NewStream(), NewStream(), NewStream(), NewStream()};
  const CUstream other = NewStream();
  for (CUstream stream : streams) AllocateAndFree(stream, stream);
  if (!healthy) return;
  CHECK(cuStreamSynchronize(streams[0]));
  CHECK(cuEventRecord(event, streams[1]));
  CHECK(cuEventSynchronize(event));
  CHECK(cuEventRecord(event, streams[2]));
  CHECK(cuStreamWaitEvent(other, event, 0));
  CHECK(cuStreamSynchronize(other));
  CHECK(cuEventRecord(event, streams[3]));
  CHECK(cuEventQuery(event));
}

// An event that was recorded before the free is none.
void EarlyEvent(bool healthy) {
  UsePrimary();
  CUevent event = nullptr;
  CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  const CUstream stream = NewStream();
  const CUdeviceptr address = AllocateBlock(stream);
  if (!healthy) CHECK(cuEventRecord(event, stream));
  CHECK(cuMemFreeAsync(address, stream));
  if (healthy) CHECK(cuEventRecord(event, stream));
  CHECK(cuEventSynchronize(event));
}

// The stream goes, and with it whom one could wait for; but the context is still there.
void DestroyedStream(bool healthy) {
  UsePrimary();
  const CUstream stream = NewStream();
  AllocateAndFree(stream, stream);
  CHECK(cuStreamDestroy(stream));
  CHECK(cuStreamSynchronize(NewStream()));  // may have the same handle
  if (healthy) CHECK(cuCtxSynchronize());
}

// The own stream's next allocation takes the memory: nothing is counted twice.
void Reuse(bool) {
  UsePrimary();
  const CUstream stream = NewStream();
  for (int i = 0; i < 100; ++i) AllocateAndFree(stream, stream);
  CHECK(cuMemFree(AllocateBlock(stream)));
}

// The pool is full of what other streams freed; an allocation fails; after waiting it succeeds.
void Ramp(bool healthy) {
  CUcontext context = UsePrimary();
  constexpr int kThreads = 3;
  CUstream streams[kThreads];
  for (CUstream& stream : streams) stream = NewStream();
  std::vector<std::thread> threads;
  for (CUstream stream : streams) {
    threads.emplace_back([=] {
      CHECK(cuCtxSetCurrent(context));
      std::vector<CUdeviceptr> blocks;
      for (int i = 0; i < 8; ++i) blocks.push_back(AllocateBlock(stream));
      for (CUdeviceptr block : blocks) CHECK(cuMemFreeAsync(block, stream));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const CUstream late = NewStream();
  if (healthy) CHECK(cuCtxSynchronize());
  CUdeviceptr address = 0;
  if (!healthy) {
    EXPECT_RESULT(cuMemAllocAsync(&address, 4 * kBlock, late), 2);  // by GPUSIM_FAIL
    return;
  }
  CHECK(cuMemAllocAsync(&address, 4 * kBlock, late));
  CHECK(cuMemFreeAsync(address, late));
  CHECK(cuStreamSynchronize(late));
}

// Allocated by one function, freed by the other.
void OtherFunction(bool) {
  UsePrimary();
  CHECK(cuMemFree(AllocateBlock(nullptr)));
  CUdeviceptr address = 0;
  CHECK(cuMemAlloc(&address, kBlock));
  CHECK(cuMemFreeAsync(address, nullptr));
}

void Block(bool healthy) {
  UsePrimary();
  const CUstream stream = NewStream();
  const CUdeviceptr address = AllocateBlock(stream);
  if (healthy) CHECK(cuMemFreeAsync(address, stream));
  CHECK(cuStreamSynchronize(stream));
}

constexpr Scene kScenes[] = {{"unused_stream", UnusedStream},
                             {"blocking_streams", BlockingStreams},
                             {"no_synchronisation", NoSynchronisation},
                             {"evidence", Evidence},
                             {"early_event", EarlyEvent},
                             {"destroyed_stream", DestroyedStream},
                             {"reuse", Reuse},
                             {"ramp", Ramp},
                             {"other_function", OtherFunction},
                             {"block", Block}};

}  // namespace

int main(int count, char** arguments) { return PlayScene(kScenes, count, arguments); }

// SPDX-License-Identifier: Apache-2.0
// Graphs and stream capture.
#include "tests/unit/simulator/simulated.h"

namespace gputrace::sim {
namespace {

class Graphs : public Simulated {
 protected:
  void SetUp() override {
    Start();
    ASSERT_OK(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
  }

  void Begin(CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL) {
    ASSERT_OK(cuStreamBeginCapture(stream_, mode));
  }
  CUgraph End() {
    CUgraph graph = nullptr;
    EXPECT_OK(cuStreamEndCapture(stream_, &graph));
    return graph;
  }
  static size_t NodeCount(CUgraph graph) {
    size_t count = 0;
    EXPECT_OK(cuGraphGetNodes(graph, nullptr, &count));
    return count;
  }
  static CUgraphExec Instantiate(CUgraph graph, unsigned long long flags = 0) {
    CUgraphExec exec = nullptr;
    EXPECT_OK(cuGraphInstantiate(&exec, graph, flags));
    return exec;
  }
  static cuuint64_t GraphMemory(CUgraphMem_attribute attribute) {
    cuuint64_t value = 0;
    EXPECT_OK(cuDeviceGetGraphMemAttribute(0, attribute, &value));
    return value;
  }
  // A graph that allocates 3 MiB, and frees it if told.
  CUgraph AllocatingGraph(bool frees, CUdeviceptr* address) {
    Begin();
    EXPECT_OK(cuMemAllocAsync(address, 3 * kMiB, stream_));
    EXPECT_OK(cuMemsetD8Async(reinterpret_cast<CUdeviceptr>(pinned_), 1, 1, stream_));
    if (frees) {
      EXPECT_OK(cuMemFreeAsync(*address, stream_));
    }
    return End();
  }
  void MakePinned() { ASSERT_OK(cuMemHostAlloc(&pinned_, 16, 0)); }

  CUstream stream_ = nullptr;
  void* pinned_ = nullptr;
};

TEST_F(Graphs, CapturedWorkRunsAtLaunch) {
  const CUdeviceptr address = Allocate(4);
  ASSERT_OK(cuMemsetD8(address, 1, 4));
  Begin();
  ASSERT_OK(cuMemsetD8Async(address, 2, 4, stream_));
  int calls = 0;
  ASSERT_OK(cuLaunchHostFunc(
      stream_, [](void* n) { ++*static_cast<int*>(n); }, &calls));
  const CUgraph graph = End();
  EXPECT_EQ(NodeCount(graph), 2u);
  unsigned char byte = 0;
  ASSERT_OK(cuMemcpyDtoH(&byte, address, 1));
  EXPECT_EQ(byte, 1);
  const CUgraphExec exec = Instantiate(graph);
  ASSERT_OK(cuGraphDestroy(graph));
  ASSERT_OK(cuGraphLaunch(exec, stream_));
  ASSERT_OK(cuGraphLaunch(exec, stream_));
  ASSERT_OK(cuStreamSynchronize(stream_));
  ASSERT_OK(cuMemcpyDtoH(&byte, address, 1));
  EXPECT_EQ(byte, 2);
  EXPECT_EQ(calls, 2);
  EXPECT_OK(cuGraphExecDestroy(exec));
  EXPECT_EQ(cuGraphLaunch(exec, stream_), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Graphs, WhatCannotBeCaptured) {
  const CUdeviceptr address = Allocate(1);
  EXPECT_EQ(cuStreamBeginCapture(nullptr, CU_STREAM_CAPTURE_MODE_GLOBAL),
            CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  CUgraph graph = nullptr;
  EXPECT_EQ(cuStreamEndCapture(stream_, &graph), CUDA_ERROR_ILLEGAL_STATE);
  Begin();
  EXPECT_EQ(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  ASSERT_OK(cuStreamIsCapturing(stream_, &status));
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
  EXPECT_EQ(cuMemsetD8Async(address, 0, 1, stream_), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(cuStreamEndCapture(stream_, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(graph, nullptr);
  ASSERT_OK(cuStreamIsCapturing(stream_, &status));
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_NONE);
}

TEST_F(Graphs, UnsafeCallsEndACapture) {
  CUdeviceptr address = 0;
  CUgraph graph = nullptr;
  Begin();
  EXPECT_EQ(cuMemAlloc(&address, 1), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(cuStreamEndCapture(stream_, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  Begin(CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_OK(cuMemAlloc(&address, 1));
  End();
  Begin();
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  ASSERT_OK(cuThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
  EXPECT_OK(cuMemAlloc(&address, 1));
  End();
}

TEST_F(Graphs, TheLegacyStreamEndsTheCaptureOfABlockingOne) {
  CUstream blocking = nullptr;
  ASSERT_OK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
  const CUdeviceptr address = Allocate(1);
  ASSERT_OK(cuStreamBeginCapture(blocking, CU_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT_EQ(cuMemsetD8(address, 0, 1), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  CUgraph graph = nullptr;
  EXPECT_EQ(cuStreamEndCapture(blocking, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(Graphs, EventsBringStreamsIn) {
  CUstream other = nullptr;
  ASSERT_OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  CUevent fork = nullptr;
  CUevent join = nullptr;
  ASSERT_OK(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
  ASSERT_OK(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
  const CUdeviceptr address = Allocate(2);
  Begin();
  ASSERT_OK(cuMemsetD8Async(address, 1, 1, stream_));
  ASSERT_OK(cuEventRecord(fork, stream_));
  ASSERT_OK(cuStreamWaitEvent(other, fork, 0));
  ASSERT_OK(cuMemsetD8Async(address + 1, 1, 1, other));
  EXPECT_EQ(cuEventQuery(fork), CUDA_ERROR_CAPTURED_EVENT);
  CUgraph graph = nullptr;
  EXPECT_EQ(cuStreamEndCapture(stream_, &graph), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  Begin();
  ASSERT_OK(cuMemsetD8Async(address, 1, 1, stream_));
  ASSERT_OK(cuEventRecord(fork, stream_));
  ASSERT_OK(cuStreamWaitEvent(other, fork, 0));
  ASSERT_OK(cuMemsetD8Async(address + 1, 1, 1, other));
  ASSERT_OK(cuEventRecord(join, other));
  ASSERT_OK(cuStreamWaitEvent(stream_, join, 0));
  graph = End();
  EXPECT_EQ(NodeCount(graph), 2u);
  size_t edges = 0;
  ASSERT_OK(cuGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
  EXPECT_EQ(edges, 1u);
}

TEST_F(Graphs, NothingIsAllocatedDuringCapture) {
  MakePinned();
  CUdeviceptr address = 0;
  const CUgraph graph = AllocatingGraph(true, &address);
  EXPECT_NE(address, 0u);
  EXPECT_EQ(Used(), 0u);
  EXPECT_EQ(NodeCount(graph), 3u);
  const CUgraphExec exec = Instantiate(graph);
  EXPECT_EQ(Used(), 0u);
  ASSERT_OK(cuGraphLaunch(exec, stream_));
  EXPECT_EQ(GraphMemory(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), 0u);
  EXPECT_EQ(GraphMemory(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH), 4 * kMiB);
  EXPECT_EQ(GraphMemory(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), 4 * kMiB);
  EXPECT_EQ(Used(), 4 * kMiB);
  ASSERT_OK(cuDeviceGraphMemTrim(0));
  EXPECT_EQ(Used(), 0u);
  EXPECT_OK(cuGraphLaunch(exec, stream_)) << "it comes again";
}

TEST_F(Graphs, MemoryThatAGraphDoesNotFree) {
  MakePinned();
  CUdeviceptr address = 0;
  const CUgraphExec exec = Instantiate(AllocatingGraph(false, &address));
  EXPECT_EQ(cuMemFree(address), CUDA_ERROR_INVALID_VALUE) << "not allocated yet";
  ASSERT_OK(cuGraphLaunch(exec, stream_));
  EXPECT_OK(cuMemsetD8(address, 1, 3 * kMiB));
  EXPECT_EQ(cuGraphLaunch(exec, stream_), CUDA_ERROR_INVALID_VALUE) << "it is still allocated";
  ASSERT_OK(cuMemFreeAsync(address, stream_));
  ASSERT_OK(cuGraphLaunch(exec, stream_));
  ASSERT_OK(cuGraphExecDestroy(exec));
  EXPECT_EQ(GraphMemory(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), 4 * kMiB) << "it outlives the graph";
  EXPECT_OK(cuMemFree(address));
  EXPECT_EQ(GraphMemory(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), 0u);
}

TEST_F(Graphs, GraphsFreeNoOtherMemory) {
  CUdeviceptr block = 0;
  ASSERT_OK(cuMemAllocAsync(&block, 100, stream_));
  Begin();
  EXPECT_EQ(cuMemFreeAsync(block, stream_), CUDA_ERROR_INVALID_VALUE);
  ASSERT_OK(cuGraphDestroy(End()));
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  ASSERT_OK(cuGraphCreate(&graph, 0));
  ASSERT_OK(cuGraphAddMemFreeNode(&node, graph, nullptr, 0, block));
  EXPECT_EQ(cuGraphLaunch(Instantiate(graph), stream_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(cuMemFreeAsync(block, stream_));
}

TEST_F(Graphs, AutoFreeOnLaunch) {
  MakePinned();
  CUdeviceptr address = 0;
  const CUgraphExec exec = Instantiate(AllocatingGraph(false, &address),
                                       CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
  EXPECT_OK(cuGraphLaunch(exec, stream_));
  EXPECT_OK(cuGraphLaunch(exec, stream_));
  EXPECT_EQ(GraphMemory(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), 4 * kMiB);
}

TEST_F(Graphs, ByHand) {
  CUgraph graph = nullptr;
  ASSERT_OK(cuGraphCreate(&graph, 0));
  CUDA_MEM_ALLOC_NODE_PARAMS alloc = {};
  alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  alloc.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  alloc.bytesize = 1000;
  CUgraphNode first = nullptr;
  ASSERT_OK(cuGraphAddMemAllocNode(&first, graph, nullptr, 0, &alloc));
  EXPECT_NE(alloc.dptr, 0u);
  CUgraphNode second = nullptr;
  ASSERT_OK(cuGraphAddMemFreeNode(&second, graph, &first, 1, alloc.dptr));
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_KERNEL;
  ASSERT_OK(cuGraphNodeGetType(second, &type));
  EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_MEM_FREE);
  CUdeviceptr freed = 0;
  ASSERT_OK(cuGraphMemFreeNodeGetParams(second, &freed));
  EXPECT_EQ(freed, alloc.dptr);
  size_t roots = 0;
  ASSERT_OK(cuGraphGetRootNodes(graph, nullptr, &roots));
  EXPECT_EQ(roots, 1u);
  CUgraph clone = nullptr;
  EXPECT_EQ(cuGraphClone(&clone, graph), CUDA_ERROR_NOT_SUPPORTED) << "it allocates";
  EXPECT_OK(cuGraphLaunch(Instantiate(graph), stream_));
  alloc.bytesize = 0;
  EXPECT_EQ(cuGraphAddMemAllocNode(&first, graph, nullptr, 0, &alloc), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Graphs, CyclesCannotBeInstantiated) {
  CUgraph graph = nullptr;
  ASSERT_OK(cuGraphCreate(&graph, 0));
  CUgraphNode first = nullptr;
  CUgraphNode second = nullptr;
  ASSERT_OK(cuGraphAddEmptyNode(&first, graph, nullptr, 0));
  ASSERT_OK(cuGraphAddEmptyNode(&second, graph, &first, 1));
  ASSERT_OK(cuGraphAddDependencies(graph, &second, &first, nullptr, 1));
  CUgraphExec exec = nullptr;
  EXPECT_EQ(cuGraphInstantiate(&exec, graph, 0), CUDA_ERROR_INVALID_VALUE);
  ASSERT_OK(cuGraphRemoveDependencies(graph, &second, &first, nullptr, 1));
  EXPECT_OK(cuGraphInstantiate(&exec, graph, 0));
}

TEST_F(Graphs, Updates) {
  const CUdeviceptr address = Allocate(1);
  const auto fill = [&](unsigned char value) {
    Begin();
    EXPECT_OK(cuMemsetD8Async(address, value, 1, stream_));
    return End();
  };
  const CUgraphExec exec = Instantiate(fill(1));
  CUgraphExecUpdateResultInfo info;
  ASSERT_OK(cuGraphExecUpdate(exec, fill(2), &info));
  ASSERT_OK(cuGraphLaunch(exec, stream_));
  ASSERT_OK(cuStreamSynchronize(stream_));
  unsigned char byte = 0;
  ASSERT_OK(cuMemcpyDtoH(&byte, address, 1));
  EXPECT_EQ(byte, 2);
  CUgraph empty = nullptr;
  ASSERT_OK(cuGraphCreate(&empty, 0));
  EXPECT_EQ(cuGraphExecUpdate(exec, empty, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
}

}  // namespace
}  // namespace gputrace::sim

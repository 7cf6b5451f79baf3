// SPDX-License-Identifier: Apache-2.0
// Graphs with nodes that allocate and free, made by hand and by capture.
#include "tests/truth/player.h"

namespace gputrace::truth {
namespace {

void AddAllocation(Turn& t) {
  CUgraphNode node = nullptr;
  CUDA_MEM_ALLOC_NODE_PARAMS parameters = {};
  parameters.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  parameters.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  parameters.poolProps.location.id = static_cast<int>(t.number(3));
  parameters.bytesize = t.number(2);
  const CUresult result = cuGraphAddMemAllocNode(&node, t.as<CUgraph>(1), nullptr, 0, &parameters);
  t.Fill(0, result, parameters.dptr);
}

void AddNode(Turn& t, bool second) {
  CUgraphNode node = nullptr;
  CUgraphNodeParams parameters = {};
  parameters.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
  parameters.alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  parameters.alloc.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  parameters.alloc.poolProps.location.id = static_cast<int>(t.number(3));
  parameters.alloc.bytesize = t.number(2);
  const auto graph = t.as<CUgraph>(1);
  const CUresult result = second ? cuGraphAddNode_v2(&node, graph, nullptr, nullptr, 0, &parameters)
                                 : cuGraphAddNode(&node, graph, nullptr, 0, &parameters);
  t.Fill(0, result, parameters.alloc.dptr);
}

void Instantiate(Turn& t) {
  CUgraphExec exec = nullptr;
  const auto graph = t.as<CUgraph>(1);
  unsigned long long flags = 0;
  if (t.number(3) != 0) flags = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
  CUresult result = CUDA_SUCCESS;
  switch (t.number(2)) {
    case 0:
      result = cuGraphInstantiate(&exec, graph, nullptr, nullptr, 0);
      break;
    case 1:
      result = cuGraphInstantiate_v2(&exec, graph, nullptr, nullptr, 0);
      break;
    case 2:
      result = cuGraphInstantiateWithFlags(&exec, graph, flags);
      break;
    default: {
      CUDA_GRAPH_INSTANTIATE_PARAMS parameters = {};
      parameters.flags = flags;
      result = t.number(2) == 3 ? cuGraphInstantiateWithParams(&exec, graph, &parameters)
                                : cuGraphInstantiateWithParams_ptsz(&exec, graph, &parameters);
    }
  }
  t.Fill(0, result, exec);
}

void EndCapture(Turn& t) {
  CUgraph graph = nullptr;
  t.Fill(0, cuStreamEndCapture(t.as<CUstream>(1), &graph), graph);
}

}  // namespace

void AddGraphOperations(std::vector<Operation>* operations) {
  const auto add = [operations](auto... parts) { operations->emplace_back(parts...); };
  using Arguments = std::vector<Argument>;
  const Arguments allocation = {New(Type::kGraphPtr), Use(Type::kGraph), Size(), Below(3)};
  add("GraphCreate", 3, When::kAnytime, Arguments{New(Type::kGraph)}, [](Turn& t) {
    CUgraph graph = nullptr;
    t.Fill(0, cuGraphCreate(&graph, 0), graph);
  });
  add("GraphDestroy", 3, When::kAnytime, Arguments{Take(Type::kGraph)}, [](Turn& t) {
    cuGraphDestroy(t.as<CUgraph>(0));
    t.Empty(0);
  });
  add("GraphAddMemAllocNode", 4, When::kAnytime, allocation, AddAllocation);
  add("GraphAddNode", 2, When::kAnytime, allocation, [](Turn& t) { AddNode(t, false); });
  add("GraphAddNodeV2", 2, When::kAnytime, allocation, [](Turn& t) { AddNode(t, true); });
  add("GraphAddMemFreeNode", 3, When::kAnytime, Arguments{Use(Type::kGraphPtr), Use(Type::kGraph)},
      [](Turn& t) {
        CUgraphNode node = nullptr;
        cuGraphAddMemFreeNode(&node, t.as<CUgraph>(1), nullptr, 0, t.value(0));
      });
  // Only memory of graphs is freed by graphs.
  add("GraphAddFreeOfBlock", 1, When::kAnytime, Arguments{Use(Type::kBlock), Use(Type::kGraph)},
      [](Turn& t) {
        CUgraphNode node = nullptr;
        cuGraphAddMemFreeNode(&node, t.as<CUgraph>(1), nullptr, 0, t.value(0));
      });
  // The address may by now be that of something else.
  add("MemFreeOfGraph", 3, When::kSerial, Arguments{Use(Type::kGraphPtr)}, [](Turn& t) {
    const uint64_t address = t.value(0);
    if (cuMemFree_v2(address) == CUDA_SUCCESS) t.player.ForgetValue(address);
  });
  add("MemFreeAsyncOfGraph", 4, When::kSerial, Arguments{Use(Type::kGraphPtr), Use(Type::kStream)},
      [](Turn& t) {
        const uint64_t address = t.value(0);
        if (cuMemFreeAsync(address, t.as<CUstream>(1)) == CUDA_SUCCESS) {
          t.player.ForgetValue(address);
        }
      });
  add("GraphInstantiate", 5, When::kAnytime,
      Arguments{New(Type::kExec), Use(Type::kGraph), Below(5), Below(2)}, Instantiate);
  add("GraphLaunch", 8, When::kAnytime, Arguments{Use(Type::kExec), Use(Type::kStream), Below(2)},
      [](Turn& t) {
        if (t.number(2) == 0) cuGraphUpload(t.as<CUgraphExec>(0), t.as<CUstream>(1));
        cuGraphLaunch(t.as<CUgraphExec>(0), t.as<CUstream>(1));
      });
  add("GraphLaunchPtsz", 2, When::kAnytime, Arguments{Use(Type::kExec), Use(Type::kStream)},
      [](Turn& t) {
        cuGraphUpload_ptsz(t.as<CUgraphExec>(0), t.as<CUstream>(1));
        cuGraphLaunch_ptsz(t.as<CUgraphExec>(0), t.as<CUstream>(1));
      });
  add("GraphExecUpdate", 1, When::kAnytime, Arguments{Use(Type::kExec), Use(Type::kGraph)},
      [](Turn& t) {
        CUgraphExecUpdateResultInfo info = {};
        cuGraphExecUpdate_v2(t.as<CUgraphExec>(0), t.as<CUgraph>(1), &info);
      });
  add("GraphExecDestroy", 4, When::kAnytime, Arguments{Take(Type::kExec)}, [](Turn& t) {
    cuGraphExecDestroy(t.as<CUgraphExec>(0));
    t.Empty(0);
  });
  add("GraphClone", 1, When::kAnytime, Arguments{New(Type::kGraph), Use(Type::kGraph)},
      [](Turn& t) {
        CUgraph graph = nullptr;
        t.Fill(0, cuGraphClone(&graph, t.as<CUgraph>(1)), graph);
      });
  add("GraphMemTrim", 1, When::kAnytime, Arguments{Below(3)},
      [](Turn& t) { cuDeviceGraphMemTrim(static_cast<CUdevice>(t.number(0))); });
  add("GraphMemGet", 1, When::kAnytime, Arguments{Below(3), Below(4)}, [](Turn& t) {
    cuuint64_t value = 0;
    cuDeviceGetGraphMemAttribute(static_cast<CUdevice>(t.number(0)),
                                 static_cast<CUgraphMem_attribute>(t.number(1)), &value);
  });
  // Where the stream is captured already it is refused.
  add("CaptureToGraph", 1, When::kAnytime, Arguments{Use(Type::kStream), Use(Type::kGraph)},
      [](Turn& t) {
        const auto stream = t.as<CUstream>(0);
        CUgraph graph = nullptr;
        CUdeviceptr address = 0;
        if (cuStreamBeginCaptureToGraph(stream, t.as<CUgraph>(1), nullptr, nullptr, 0,
                                        CU_STREAM_CAPTURE_MODE_RELAXED) != CUDA_SUCCESS) {
          return;
        }
        cuMemAllocAsync(&address, 4096, stream);
        cuStreamEndCapture_ptsz(stream, &graph);
      });
  // The generator follows it with the end of the same capture, a few steps later.
  add("BeginCapture", 3, When::kAnytime, Arguments{Use(Type::kStream), Below(24)}, [](Turn& t) {
    // A global capture refuses many calls of other threads: some of that, but not much.
    constexpr CUstreamCaptureMode kModes[] = {CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
                                              CU_STREAM_CAPTURE_MODE_RELAXED};
    const auto stream = t.as<CUstream>(0);
    switch (t.number(1)) {
      case 0:
        cuStreamBeginCapture(stream);
        return;
      case 1:
        cuStreamBeginCapture_ptsz(stream);
        return;
      case 2:
        cuStreamBeginCapture_v2_ptsz(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
        return;
      default:
        cuStreamBeginCapture_v2(stream, kModes[t.number(1) % 2]);
    }
  });
  add("EndCapture", 0, When::kAnytime, Arguments{New(Type::kGraph), Use(Type::kStream)},
      EndCapture);
  add("CaptureMode", 1, When::kAnytime, Arguments{Below(3)}, [](Turn& t) {
    auto mode = static_cast<CUstreamCaptureMode>(t.number(0));
    cuThreadExchangeStreamCaptureMode(&mode);
  });
}

}  // namespace gputrace::truth

// SPDX-License-Identifier: Apache-2.0
// Graphs with memory nodes. Other nodes are accepted and do nothing when the graph is launched.
#include "simulator/driver/graphs.h"

#include <algorithm>
#include <memory>
#include <set>
#include <vector>

#include "simulator/driver/journal.h"

namespace gputrace::sim {
namespace {

struct Node {
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  uint64_t address = 0;
  size_t size = 0;
};
struct Graph {
  std::vector<Node*> nodes;
  bool alive = true;
};
struct Exec {
  std::vector<Node> nodes;
  int device = 0;
  bool alive = true;
};

template <typename T>
std::set<T*>& All() {
  static auto* all = new std::set<T*>;
  return *all;
}
template <typename T, typename Handle>
T* From(Handle handle) {
  auto* object = reinterpret_cast<T*>(handle);
  return All<T>().count(object) != 0 && object->alive ? object : nullptr;
}
template <typename T>
T* Make() {
  auto* object = new T;
  All<T>().insert(object);
  return object;
}

Node* AddNode(Graph* graph, const Node& node) {
  graph->nodes.push_back(new Node(node));
  return graph->nodes.back();
}

CUresult AddAllocation(Graph* graph, size_t size, CUdeviceptr* address, CUgraphNode* out) {
  if (size == 0 || address == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Node node{CU_GRAPH_NODE_TYPE_MEM_ALLOC, MapMemory(RoundUp(size, kGranularity)), size};
  if (node.address == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  Node* added = AddNode(graph, node);
  if (out != nullptr) *out = reinterpret_cast<CUgraphNode>(added);
  *address = node.address;
  return CUDA_SUCCESS;
}

CUresult Instantiate(CUgraphExec* out, CUgraph handle) {
  const Locked locked;
  Context* context = nullptr;
  if (const CUresult result = NeedContext(&context); result != CUDA_SUCCESS) return result;
  const Graph* graph = From<Graph>(handle);
  if (graph == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Exec* exec = Make<Exec>();
  exec->device = context->device;
  for (const Node* node : graph->nodes) exec->nodes.push_back(*node);
  *out = reinterpret_cast<CUgraphExec>(exec);
  return CUDA_SUCCESS;
}

CUresult Begin(CUstream handle, CUgraph graph) {
  const Locked locked;
  bool valid = false;
  Stream* stream = ToStream(handle, &valid);
  if (!valid || stream == nullptr) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (stream->capture_id != 0) return CUDA_ERROR_ILLEGAL_STATE;
  stream->capture_id = state().next_capture_id++;
  stream->captured = graph != nullptr ? graph : reinterpret_cast<CUgraph>(Make<Graph>());
  return CUDA_SUCCESS;
}

CUresult RunNode(const Node& node, int device) {
  Device& d = state().devices[static_cast<size_t>(device)];
  if (node.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) {
    if (state().allocations.count(node.address) != 0) return CUDA_ERROR_INVALID_VALUE;
    Allocation allocation;
    allocation.kind = MemoryKind::kGraph;
    allocation.address = node.address;
    allocation.size = node.size;
    allocation.reserved = RoundUp(node.size, kGranularity);
    allocation.device = device;
    if (const CUresult result = TakePhysical(device, allocation.reserved); result != CUDA_SUCCESS) {
      return result;
    }
    d.graph_used += allocation.reserved;
    d.graph_used_high = std::max(d.graph_used_high, d.graph_used);
    state().allocations[node.address] = allocation;
    NoteChange({"cuGraphLaunch", '+', "graph", node.address, node.size, device, 0, 0, 0});
  } else if (node.type == CU_GRAPH_NODE_TYPE_MEM_FREE) {
    Allocation* allocation = FindAllocation(node.address);
    if (allocation != nullptr) FreeAllocation(allocation, "cuGraphLaunch");
  }
  return CUDA_SUCCESS;
}

}  // namespace

CUresult CaptureAllocation(Stream* stream, size_t size, CUdeviceptr* address) {
  return AddAllocation(reinterpret_cast<Graph*>(stream->captured), size, address, nullptr);
}

CUresult CaptureFree(Stream* stream, CUdeviceptr address) {
  AddNode(reinterpret_cast<Graph*>(stream->captured), {CU_GRAPH_NODE_TYPE_MEM_FREE, address, 0});
  return CUDA_SUCCESS;
}

CUresult Sim_cuGraphCreate(CUgraph* out, unsigned int) {
  const Locked locked;
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = reinterpret_cast<CUgraph>(Make<Graph>());
  return CUDA_SUCCESS;
}

CUresult Sim_cuGraphDestroy(CUgraph handle) {
  const Locked locked;
  Graph* graph = From<Graph>(handle);
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  graph->alive = false;
  return CUDA_SUCCESS;
}

CUresult Sim_cuGraphAddMemAllocNode(CUgraphNode* node, CUgraph handle, const CUgraphNode*, size_t,
                                    CUDA_MEM_ALLOC_NODE_PARAMS* parameters) {
  const Locked locked;
  Graph* graph = From<Graph>(handle);
  if (graph == nullptr || parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return AddAllocation(graph, parameters->bytesize, &parameters->dptr, node);
}

CUresult Sim_cuGraphAddMemFreeNode(CUgraphNode* node, CUgraph handle, const CUgraphNode*, size_t,
                                   CUdeviceptr address) {
  const Locked locked;
  Graph* graph = From<Graph>(handle);
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Node* added = AddNode(graph, {CU_GRAPH_NODE_TYPE_MEM_FREE, address, 0});
  if (node != nullptr) *node = reinterpret_cast<CUgraphNode>(added);
  return CUDA_SUCCESS;
}

CUresult Sim_cuGraphAddEmptyNode(CUgraphNode* node, CUgraph handle, const CUgraphNode*, size_t) {
  const Locked locked;
  Graph* graph = From<Graph>(handle);
  if (graph == nullptr || node == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *node = reinterpret_cast<CUgraphNode>(AddNode(graph, {}));
  return CUDA_SUCCESS;
}

CUresult Sim_cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long) {
  return Instantiate(exec, graph);
}
CUresult Sim_cuGraphInstantiateWithParams(CUgraphExec* exec, CUgraph graph,
                                          CUDA_GRAPH_INSTANTIATE_PARAMS*) {
  return Instantiate(exec, graph);
}
CUresult Sim_cuGraphInstantiate_v2(CUgraphExec* exec, CUgraph graph, CUgraphNode*, char*, size_t) {
  return Instantiate(exec, graph);
}

CUresult Sim_cuGraphExecDestroy(CUgraphExec handle) {
  const Locked locked;
  Exec* exec = From<Exec>(handle);
  if (exec == nullptr) return CUDA_ERROR_INVALID_VALUE;
  exec->alive = false;
  return CUDA_SUCCESS;
}

CUresult Sim_cuGraphUpload(CUgraphExec handle, CUstream) {
  const Locked locked;
  return From<Exec>(handle) == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult Sim_cuGraphLaunch(CUgraphExec handle, CUstream) {
  const Locked locked;
  const Exec* exec = From<Exec>(handle);
  if (exec == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (const Node& node : exec->nodes) {
    if (const CUresult result = RunNode(node, exec->device); result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

CUresult Sim_cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute, void* value) {
  const Locked locked;
  if (!IsDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Device& d = state().devices[static_cast<size_t>(device)];
  const bool high = attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH ||
                    attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH;
  *static_cast<uint64_t*>(value) = high ? d.graph_used_high : d.graph_used;
  return CUDA_SUCCESS;
}

CUresult Sim_cuDeviceGraphMemTrim(CUdevice device) {
  return IsDevice(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult Sim_cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode) {
  return Begin(stream, nullptr);
}
CUresult Sim_cuStreamBeginCapture(CUstream stream) { return Begin(stream, nullptr); }
CUresult Sim_cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode*,
                                         const CUgraphEdgeData*, size_t, CUstreamCaptureMode) {
  return Begin(stream, graph);
}

CUresult Sim_cuStreamEndCapture(CUstream handle, CUgraph* graph) {
  const Locked locked;
  bool valid = false;
  Stream* stream = ToStream(handle, &valid);
  if (!valid || stream == nullptr || stream->capture_id == 0) return CUDA_ERROR_ILLEGAL_STATE;
  if (graph != nullptr) *graph = stream->captured;
  stream->capture_id = 0;
  stream->captured = nullptr;
  return CUDA_SUCCESS;
}

CUresult Sim_cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus* status) {
  const Locked locked;
  bool valid = false;
  const Stream* stream = ToStream(handle, &valid);
  if (!valid) return CUDA_ERROR_INVALID_HANDLE;
  if (status == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *status = stream != nullptr && stream->capture_id != 0 ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                                                         : CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}

CUresult Sim_cuStreamGetCaptureInfo(CUstream handle, CUstreamCaptureStatus* status, cuuint64_t* id) {
  const Locked locked;
  const CUresult result = Sim_cuStreamIsCapturing(handle, status);
  if (result != CUDA_SUCCESS) return result;
  bool valid = false;
  const Stream* stream = ToStream(handle, &valid);
  if (id != nullptr && stream != nullptr && stream->capture_id != 0) *id = stream->capture_id;
  return CUDA_SUCCESS;
}

CUresult Sim_cuStreamGetCaptureInfo_v2(CUstream handle, CUstreamCaptureStatus* status, cuuint64_t* id,
                                       CUgraph* graph, const CUgraphNode** dependencies,
                                       size_t* dependency_count) {
  const Locked locked;
  const CUresult result = Sim_cuStreamGetCaptureInfo(handle, status, id);
  bool valid = false;
  const Stream* stream = ToStream(handle, &valid);
  if (graph != nullptr) *graph = stream == nullptr ? nullptr : stream->captured;
  if (dependencies != nullptr) *dependencies = nullptr;
  if (dependency_count != nullptr) *dependency_count = 0;
  return result;
}

CUresult Sim_cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  return mode == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

}  // namespace gputrace::sim

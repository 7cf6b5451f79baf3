// SPDX-License-Identifier: Apache-2.0
// Executable graphs: instantiation, launch, and the memory that launches allocate.
#include <cstring>

#include "bodies.h"
#include "simulator/driver/graph_capture.h"
#include "simulator/driver/graph_memory.h"
#include "simulator/driver/pool.h"

namespace gputrace::sim {
namespace {

CUresult Instantiate(CUgraphExec* out, CUgraph handle, unsigned long long flags) {
  const Guard guard;
  const auto graph = TheDriver().graphs.Find(handle);
  if (out == nullptr || graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::vector<GraphNode*> order = InOrder(*graph);
  if (order.size() != graph->nodes.size()) return CUDA_ERROR_INVALID_VALUE;
  const auto exec = std::make_shared<GraphExec>();
  exec->nodes = CopyNodes(order);
  exec->flags = flags;
  exec->id = TheDriver().next_id++;
  *out = TheDriver().graph_execs.Add(exec);
  TheDriver().ledger.Add({.kind = "graph_exec", .handle = HandleNumber(*out)});
  return CUDA_SUCCESS;
}

void FreeIfLive(uint64_t address) {
  Allocation* allocation = TheDriver().allocations.At(address);
  if (allocation != nullptr && allocation->kind == MemoryKind::kGraph) Release(allocation);
}

// A free node frees memory of a graph, and nothing else (header of cuMemFreeAsync).
CUresult RunFreeNode(uint64_t address) {
  Allocation* allocation = TheDriver().allocations.At(address);
  if (allocation == nullptr || allocation->kind != MemoryKind::kGraph) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Release(allocation);
  return CUDA_SUCCESS;
}

CUresult RunNode(const Stream& stream, const GraphNode& node) {
  switch (node.type) {
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
      return AllocateGraphMemory(node.memory);
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      return RunFreeNode(node.free_address);
    case CU_GRAPH_NODE_TYPE_GRAPH:
      for (const GraphNode* child : InOrder(*node.child)) GPUSIM_TRY(RunNode(stream, *child));
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      if (const auto event = TheDriver().events.Find(node.event)) {
        event->moment = Now(stream.timeline);
        event->recorded = true;
      }
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: {
      const auto event = TheDriver().events.Find(node.event);
      if (event != nullptr && event->recorded) {
        SubmitOn(stream, {.run = nullptr, .after = {event->moment}});
      }
      return CUDA_SUCCESS;
    }
    default:
      if (node.enabled) {
        SubmitOn(
            stream,
            {.run = node.run, .host_function = node.type == CU_GRAPH_NODE_TYPE_HOST, .after = {}});
      }
      return CUDA_SUCCESS;
  }
}

// Memory that the last launch allocated and nothing freed: an error, unless the graph frees it
// itself.
CUresult PrepareMemory(const GraphExec& exec) {
  const bool auto_free = (exec.flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) != 0;
  for (const auto& node : exec.nodes) {
    if (node->type != CU_GRAPH_NODE_TYPE_MEM_ALLOC || !node->memory->live) continue;
    if (!auto_free) return CUDA_ERROR_INVALID_VALUE;
    FreeIfLive(node->memory->address);
  }
  return CUDA_SUCCESS;
}

CUresult Update(CUgraphExec exec_handle, CUgraph graph_handle, CUgraphExecUpdateResult* result) {
  const Guard guard;
  const auto exec = TheDriver().graph_execs.Find(exec_handle);
  const auto graph = TheDriver().graphs.Find(graph_handle);
  if (exec == nullptr || graph == nullptr || result == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::vector<GraphNode*> order = InOrder(*graph);
  *result = CU_GRAPH_EXEC_UPDATE_SUCCESS;
  if (order.size() != exec->nodes.size()) {
    *result = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  }
  for (size_t i = 0; i < order.size(); ++i) {
    if (order[i]->type == exec->nodes[i]->type) continue;
    *result = CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
    return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  }
  exec->nodes = CopyNodes(order);
  return CUDA_SUCCESS;
}

CUresult GraphMemoryValue(Device* device, CUgraphMem_attribute attribute, uint64_t** value) {
  switch (attribute) {
    case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT:
      *value = &device->graph_used;
      return CUDA_SUCCESS;
    case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
      *value = &device->graph_used_high;
      return CUDA_SUCCESS;
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT:
      *value = &device->graph_reserved;
      return CUDA_SUCCESS;
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH:
      *value = &device->graph_reserved_high;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace

extern "C" {

CUresult gpusim_cuGraphInstantiateWithFlags(CUgraphExec* phGraphExec, CUgraph hGraph,
                                            unsigned long long flags) {
  return Instantiate(phGraphExec, hGraph, flags);
}
CUresult gpusim_cuGraphInstantiate(CUgraphExec* phGraphExec, CUgraph hGraph,
                                   CUgraphNode* phErrorNode, char* logBuffer, size_t bufferSize) {
  if (phErrorNode != nullptr) *phErrorNode = nullptr;
  if (logBuffer != nullptr && bufferSize > 0) logBuffer[0] = '\0';
  return Instantiate(phGraphExec, hGraph, 0);
}
CUresult gpusim_cuGraphInstantiate_v2(CUgraphExec* phGraphExec, CUgraph hGraph,
                                      CUgraphNode* phErrorNode, char* logBuffer,
                                      size_t bufferSize) {
  return gpusim_cuGraphInstantiate(phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize);
}
CUresult gpusim_cuGraphInstantiateWithParams(CUgraphExec* phGraphExec, CUgraph hGraph,
                                             CUDA_GRAPH_INSTANTIATE_PARAMS* instantiateParams) {
  if (instantiateParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = Instantiate(phGraphExec, hGraph, instantiateParams->flags);
  instantiateParams->hErrNode_out = nullptr;
  instantiateParams->result_out =
      result == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS : CUDA_GRAPH_INSTANTIATE_ERROR;
  return result;
}

CUresult gpusim_cuGraphLaunch(CUgraphExec hGraphExec, CUstream hStream) {
  const Guard guard;
  std::shared_ptr<Stream> stream;
  GPUSIM_TRY(FindStream(hStream, &stream));
  GPUSIM_TRY(CheckLegacyUse(*stream));
  const auto exec = TheDriver().graph_execs.Find(hGraphExec);
  if (exec == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (stream->capturing.active()) {
    auto node = std::make_unique<GraphNode>();
    node->type = CU_GRAPH_NODE_TYPE_GRAPH;
    node->child = std::make_shared<Graph>();
    std::vector<GraphNode*> nodes;
    for (const auto& own : exec->nodes) nodes.push_back(own.get());
    node->child->nodes = CopyNodes(nodes);
    CUresult result = CUDA_SUCCESS;
    CaptureNode(stream.get(), std::move(node), &result);
    return result;
  }
  GPUSIM_TRY(PrepareMemory(*exec));
  for (const auto& node : exec->nodes) GPUSIM_TRY(RunNode(*stream, *node));
  return CUDA_SUCCESS;
}

CUresult gpusim_cuGraphUpload(CUgraphExec hGraphExec, CUstream hStream) {
  const Guard guard;
  std::shared_ptr<Stream> stream;
  GPUSIM_TRY(FindStream(hStream, &stream));
  return TheDriver().graph_execs.Find(hGraphExec) == nullptr ? CUDA_ERROR_INVALID_VALUE
                                                             : CUDA_SUCCESS;
}

// What the last launch allocated stays allocated (header).
CUresult gpusim_cuGraphExecDestroy(CUgraphExec hGraphExec) {
  const Guard guard;
  if (TheDriver().graph_execs.Find(hGraphExec) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  TheDriver().ledger.Remove("graph_exec", HandleNumber(hGraphExec));
  TheDriver().graph_execs.Remove(hGraphExec);
  return CUDA_SUCCESS;
}

CUresult gpusim_cuGraphExecGetFlags(CUgraphExec hGraphExec, cuuint64_t* flags) {
  const Guard guard;
  const auto exec = TheDriver().graph_execs.Find(hGraphExec);
  if (exec == nullptr || flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = exec->flags;
  return CUDA_SUCCESS;
}

CUresult gpusim_cuGraphExecGetId(CUgraphExec hGraphExec, unsigned* graphId) {
  const Guard guard;
  const auto exec = TheDriver().graph_execs.Find(hGraphExec);
  if (exec == nullptr || graphId == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *graphId = static_cast<unsigned>(exec->id);
  return CUDA_SUCCESS;
}

CUresult gpusim_cuGraphExecUpdate_v2(CUgraphExec hGraphExec, CUgraph hGraph,
                                     CUgraphExecUpdateResultInfo* resultInfo) {
  if (resultInfo == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *resultInfo = {};
  return Update(hGraphExec, hGraph, &resultInfo->result);
}

CUresult gpusim_cuGraphExecUpdate(CUgraphExec hGraphExec, CUgraph hGraph,
                                  CUgraphNode* hErrorNode_out,
                                  CUgraphExecUpdateResult* updateResult_out) {
  if (hErrorNode_out != nullptr) *hErrorNode_out = nullptr;
  return Update(hGraphExec, hGraph, updateResult_out);
}

CUresult gpusim_cuDeviceGetGraphMemAttribute(CUdevice dev, CUgraphMem_attribute attr, void* value) {
  const Guard guard;
  Device* device = nullptr;
  GPUSIM_TRY(FindDevice(dev, &device));
  uint64_t* known = nullptr;
  GPUSIM_TRY(GraphMemoryValue(device, attr, &known));
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  memcpy(value, known, sizeof(*known));
  return CUDA_SUCCESS;
}

// Only high-water marks can be set, and only to zero: they start again from what is (header).
CUresult gpusim_cuDeviceSetGraphMemAttribute(CUdevice dev, CUgraphMem_attribute attr, void* value) {
  const Guard guard;
  Device* device = nullptr;
  GPUSIM_TRY(FindDevice(dev, &device));
  uint64_t number = 0;
  if (value != nullptr) memcpy(&number, value, sizeof(number));
  if (value == nullptr || number != 0) return CUDA_ERROR_INVALID_VALUE;
  switch (attr) {
    case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
      device->graph_used_high = device->graph_used;
      return CUDA_SUCCESS;
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH:
      device->graph_reserved_high = device->graph_reserved;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult gpusim_cuDeviceGraphMemTrim(CUdevice dev) {
  const Guard guard;
  Device* device = nullptr;
  GPUSIM_TRY(FindDevice(dev, &device));
  TrimGraphMemory(device);
  return CUDA_SUCCESS;
}

}  // extern "C"

}  // namespace gputrace::sim

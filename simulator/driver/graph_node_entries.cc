// SPDX-License-Identifier: Apache-2.0
// Making nodes of graphs, one entry for each kind, and reading back what they were made from.
#include "bodies.h"
#include "simulator/driver/copy.h"
#include "simulator/driver/graph_memory.h"

namespace gputrace::sim {
namespace {

std::unique_ptr<GraphNode> MakeNode(CUgraphNodeType type) {
  auto node = std::make_unique<GraphNode>();
  node->type = type;
  return node;
}

CUresult Insert(CUgraphNode* out, CUgraph graph_handle, const CUgraphNode* dependencies,
                size_t count, std::unique_ptr<GraphNode> node) {
  const auto graph = TheDriver().graphs.Find(graph_handle);
  if (out == nullptr || graph == nullptr || (dependencies == nullptr && count > 0)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (size_t i = 0; i < count; ++i) {
    GraphNode* dependency = FindNode(dependencies[i]);
    if (!graph->Has(dependency)) return CUDA_ERROR_INVALID_VALUE;
    node->dependencies.push_back(dependency);
  }
  *out = HandleOf(graph->Add(std::move(node)));
  return CUDA_SUCCESS;
}

CUresult SetCopy(GraphNode* node, const CUDA_MEMCPY3D& parameters) {
  CopyPlan plan;
  GPUSIM_TRY(PlanCopy(parameters, &plan));
  node->copy = parameters;
  node->run = [plan] { Run(plan); };
  return CUDA_SUCCESS;
}

CUresult SetFill(GraphNode* node, const CUDA_MEMSET_NODE_PARAMS& parameters) {
  FillPlan plan;
  GPUSIM_TRY(PlanFill(parameters, &plan));
  node->fill = parameters;
  node->run = [plan] { Run(plan); };
  return CUDA_SUCCESS;
}

void SetHost(GraphNode* node, const CUDA_HOST_NODE_PARAMS& parameters) {
  node->host = parameters;
  node->run = [parameters] { parameters.fn(parameters.userData); };
}

CUresult SetAllocation(GraphNode* node, CUDA_MEM_ALLOC_NODE_PARAMS* parameters) {
  if (parameters->bytesize == 0 ||
      parameters->poolProps.location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Device* device = nullptr;
  GPUSIM_TRY(FindDevice(parameters->poolProps.location.id, &device));
  node->memory = MakeGraphMemory(device->ordinal, parameters->bytesize);
  if (node->memory == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  parameters->dptr = node->memory->address;
  node->alloc = *parameters;
  return CUDA_SUCCESS;
}

template <typename Value>
CUresult Read(CUgraphNode handle, CUgraphNodeType type, Value GraphNode::*member, Value* out) {
  const Guard guard;
  const GraphNode* node = FindNode(handle);
  if (node == nullptr || node->type != type || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = node->*member;
  return CUDA_SUCCESS;
}

// What cuGraphAddNode is given says of itself what it is.
CUresult FillIn(GraphNode* node, CUgraphNodeParams* p) {
  switch (p->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      node->kernel = {p->kernel.func,      p->kernel.gridDimX,       p->kernel.gridDimY,
                      p->kernel.gridDimZ,  p->kernel.blockDimX,      p->kernel.blockDimY,
                      p->kernel.blockDimZ, p->kernel.sharedMemBytes, p->kernel.kernelParams,
                      p->kernel.extra,     p->kernel.kern,           p->kernel.ctx};
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return SetCopy(node, p->memcpy.copyParams);
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return SetFill(node, {p->memset.dst, p->memset.pitch, p->memset.value, p->memset.elementSize,
                            p->memset.width, p->memset.height});
    case CU_GRAPH_NODE_TYPE_HOST:
      SetHost(node, {p->host.fn, p->host.userData});
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_EMPTY:
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: {
      CUDA_MEM_ALLOC_NODE_PARAMS old = {p->alloc.poolProps, p->alloc.accessDescs,
                                        p->alloc.accessDescCount, p->alloc.bytesize, 0};
      GPUSIM_TRY(SetAllocation(node, &old));
      p->alloc.dptr = old.dptr;
      return CUDA_SUCCESS;
    }
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      node->free_address = p->free.dptr;
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      node->event = p->eventRecord.event;
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      node->event = p->eventWait.event;
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_GRAPH:
      node->child = TheDriver().graphs.Find(p->graph.graph);
      return node->child == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

}  // namespace

extern "C" {

CUresult gpusim_cuGraphAddNode(CUgraphNode* phGraphNode, CUgraph hGraph,
                               const CUgraphNode* dependencies, size_t numDependencies,
                               CUgraphNodeParams* nodeParams) {
  const Guard guard;
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto node = MakeNode(nodeParams->type);
  GPUSIM_TRY(FillIn(node.get(), nodeParams));
  return Insert(phGraphNode, hGraph, dependencies, numDependencies, std::move(node));
}

CUresult gpusim_cuGraphAddNode_v2(CUgraphNode* phGraphNode, CUgraph hGraph,
                                  const CUgraphNode* dependencies, const CUgraphEdgeData*,
                                  size_t numDependencies, CUgraphNodeParams* nodeParams) {
  return gpusim_cuGraphAddNode(phGraphNode, hGraph, dependencies, numDependencies, nodeParams);
}

CUresult gpusim_cuGraphAddEmptyNode(CUgraphNode* phGraphNode, CUgraph hGraph,
                                    const CUgraphNode* dependencies, size_t numDependencies) {
  const Guard guard;
  return Insert(phGraphNode, hGraph, dependencies, numDependencies,
                MakeNode(CU_GRAPH_NODE_TYPE_EMPTY));
}

CUresult gpusim_cuGraphAddKernelNode_v2(CUgraphNode* phGraphNode, CUgraph hGraph,
                                        const CUgraphNode* dependencies, size_t numDependencies,
                                        const CUDA_KERNEL_NODE_PARAMS* nodeParams) {
  const Guard guard;
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto node = MakeNode(CU_GRAPH_NODE_TYPE_KERNEL);
  node->kernel = *nodeParams;
  return Insert(phGraphNode, hGraph, dependencies, numDependencies, std::move(node));
}

CUresult gpusim_cuGraphAddMemcpyNode(CUgraphNode* phGraphNode, CUgraph hGraph,
                                     const CUgraphNode* dependencies, size_t numDependencies,
                                     const CUDA_MEMCPY3D* copyParams, CUcontext) {
  const Guard guard;
  if (copyParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto node = MakeNode(CU_GRAPH_NODE_TYPE_MEMCPY);
  GPUSIM_TRY(SetCopy(node.get(), *copyParams));
  return Insert(phGraphNode, hGraph, dependencies, numDependencies, std::move(node));
}

CUresult gpusim_cuGraphAddMemsetNode(CUgraphNode* phGraphNode, CUgraph hGraph,
                                     const CUgraphNode* dependencies, size_t numDependencies,
                                     const CUDA_MEMSET_NODE_PARAMS* memsetParams, CUcontext) {
  const Guard guard;
  if (memsetParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto node = MakeNode(CU_GRAPH_NODE_TYPE_MEMSET);
  GPUSIM_TRY(SetFill(node.get(), *memsetParams));
  return Insert(phGraphNode, hGraph, dependencies, numDependencies, std::move(node));
}

CUresult gpusim_cuGraphAddHostNode(CUgraphNode* phGraphNode, CUgraph hGraph,
                                   const CUgraphNode* dependencies, size_t numDependencies,
                                   const CUDA_HOST_NODE_PARAMS* nodeParams) {
  const Guard guard;
  if (nodeParams == nullptr || nodeParams->fn == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto node = MakeNode(CU_GRAPH_NODE_TYPE_HOST);
  SetHost(node.get(), *nodeParams);
  return Insert(phGraphNode, hGraph, dependencies, numDependencies, std::move(node));
}

CUresult gpusim_cuGraphAddChildGraphNode(CUgraphNode* phGraphNode, CUgraph hGraph,
                                         const CUgraphNode* dependencies, size_t numDependencies,
                                         CUgraph childGraph) {
  const Guard guard;
  const auto child = TheDriver().graphs.Find(childGraph);
  if (child == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (child->Allocates()) return CUDA_ERROR_NOT_SUPPORTED;
  auto node = MakeNode(CU_GRAPH_NODE_TYPE_GRAPH);
  std::vector<GraphNode*> nodes;
  for (const auto& own : child->nodes) nodes.push_back(own.get());
  node->child = std::make_shared<Graph>();
  node->child->nodes = CopyNodes(nodes);
  return Insert(phGraphNode, hGraph, dependencies, numDependencies, std::move(node));
}

CUresult gpusim_cuGraphAddEventRecordNode(CUgraphNode* phGraphNode, CUgraph hGraph,
                                          const CUgraphNode* dependencies, size_t numDependencies,
                                          CUevent event) {
  const Guard guard;
  auto node = MakeNode(CU_GRAPH_NODE_TYPE_EVENT_RECORD);
  node->event = event;
  return Insert(phGraphNode, hGraph, dependencies, numDependencies, std::move(node));
}

CUresult gpusim_cuGraphAddEventWaitNode(CUgraphNode* phGraphNode, CUgraph hGraph,
                                        const CUgraphNode* dependencies, size_t numDependencies,
                                        CUevent event) {
  const Guard guard;
  auto node = MakeNode(CU_GRAPH_NODE_TYPE_WAIT_EVENT);
  node->event = event;
  return Insert(phGraphNode, hGraph, dependencies, numDependencies, std::move(node));
}

CUresult gpusim_cuGraphAddMemAllocNode(CUgraphNode* phGraphNode, CUgraph hGraph,
                                       const CUgraphNode* dependencies, size_t numDependencies,
                                       CUDA_MEM_ALLOC_NODE_PARAMS* nodeParams) {
  const Guard guard;
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto node = MakeNode(CU_GRAPH_NODE_TYPE_MEM_ALLOC);
  GPUSIM_TRY(SetAllocation(node.get(), nodeParams));
  return Insert(phGraphNode, hGraph, dependencies, numDependencies, std::move(node));
}

CUresult gpusim_cuGraphAddMemFreeNode(CUgraphNode* phGraphNode, CUgraph hGraph,
                                      const CUgraphNode* dependencies, size_t numDependencies,
                                      CUdeviceptr dptr) {
  const Guard guard;
  if (dptr == 0) return CUDA_ERROR_INVALID_VALUE;
  auto node = MakeNode(CU_GRAPH_NODE_TYPE_MEM_FREE);
  node->free_address = dptr;
  return Insert(phGraphNode, hGraph, dependencies, numDependencies, std::move(node));
}

CUresult gpusim_cuGraphKernelNodeGetParams_v2(CUgraphNode hNode,
                                              CUDA_KERNEL_NODE_PARAMS* nodeParams) {
  return Read(hNode, CU_GRAPH_NODE_TYPE_KERNEL, &GraphNode::kernel, nodeParams);
}
CUresult gpusim_cuGraphMemcpyNodeGetParams(CUgraphNode hNode, CUDA_MEMCPY3D* nodeParams) {
  return Read(hNode, CU_GRAPH_NODE_TYPE_MEMCPY, &GraphNode::copy, nodeParams);
}
CUresult gpusim_cuGraphMemsetNodeGetParams(CUgraphNode hNode, CUDA_MEMSET_NODE_PARAMS* nodeParams) {
  return Read(hNode, CU_GRAPH_NODE_TYPE_MEMSET, &GraphNode::fill, nodeParams);
}
CUresult gpusim_cuGraphHostNodeGetParams(CUgraphNode hNode, CUDA_HOST_NODE_PARAMS* nodeParams) {
  return Read(hNode, CU_GRAPH_NODE_TYPE_HOST, &GraphNode::host, nodeParams);
}
CUresult gpusim_cuGraphMemAllocNodeGetParams(CUgraphNode hNode,
                                             CUDA_MEM_ALLOC_NODE_PARAMS* params_out) {
  return Read(hNode, CU_GRAPH_NODE_TYPE_MEM_ALLOC, &GraphNode::alloc, params_out);
}
CUresult gpusim_cuGraphMemFreeNodeGetParams(CUgraphNode hNode, CUdeviceptr* dptr_out) {
  return Read(hNode, CU_GRAPH_NODE_TYPE_MEM_FREE, &GraphNode::free_address, dptr_out);
}
CUresult gpusim_cuGraphEventRecordNodeGetEvent(CUgraphNode hNode, CUevent* event_out) {
  return Read(hNode, CU_GRAPH_NODE_TYPE_EVENT_RECORD, &GraphNode::event, event_out);
}
CUresult gpusim_cuGraphEventWaitNodeGetEvent(CUgraphNode hNode, CUevent* event_out) {
  return Read(hNode, CU_GRAPH_NODE_TYPE_WAIT_EVENT, &GraphNode::event, event_out);
}
CUresult gpusim_cuGraphChildGraphNodeGetGraph(CUgraphNode hNode, CUgraph* phGraph) {
  const Guard guard;
  const GraphNode* node = FindNode(hNode);
  if (phGraph == nullptr || node == nullptr || node->child == nullptr)
    return CUDA_ERROR_INVALID_VALUE;
  *phGraph = HandleOf(node->child.get());
  return CUDA_SUCCESS;
}

CUresult gpusim_cuGraphKernelNodeSetParams_v2(CUgraphNode hNode,
                                              const CUDA_KERNEL_NODE_PARAMS* nodeParams) {
  const Guard guard;
  GraphNode* node = FindNode(hNode);
  if (node == nullptr || node->type != CU_GRAPH_NODE_TYPE_KERNEL || nodeParams == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  node->kernel = *nodeParams;
  return CUDA_SUCCESS;
}

}  // extern "C"

}  // namespace gputrace::sim

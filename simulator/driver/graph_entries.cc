// SPDX-License-Identifier: Apache-2.0
// Graphs as such: life, nodes, edges.
#include <algorithm>

#include "bodies.h"
#include "simulator/driver/graph.h"

namespace gputrace::sim {
namespace {

// Hands out nodes as the header says: the number alone if there is no array; else as many as fit,
// the rest of the array cleared.
CUresult HandOut(const std::vector<GraphNode*>& found, CUgraphNode* nodes, size_t* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (nodes != nullptr) {
    for (size_t i = 0; i < *count; ++i) nodes[i] = i < found.size() ? HandleOf(found[i]) : nullptr;
    *count = std::min(*count, found.size());
  } else {
    *count = found.size();
  }
  return CUDA_SUCCESS;
}

CUresult Nodes(CUgraph handle, CUgraphNode* nodes, size_t* count, bool roots_only) {
  const Guard guard;
  const auto graph = TheDriver().graphs.Find(handle);
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::vector<GraphNode*> found;
  for (const auto& node : graph->nodes) {
    if (!roots_only || node->dependencies.empty()) found.push_back(node.get());
  }
  return HandOut(found, nodes, count);
}

CUresult Edges(CUgraph handle, CUgraphNode* from, CUgraphNode* to, size_t* count) {
  const Guard guard;
  const auto graph = TheDriver().graphs.Find(handle);
  if (graph == nullptr || count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  size_t number = 0;
  for (const auto& node : graph->nodes) {
    for (const GraphNode* dependency : node->dependencies) {
      if (from != nullptr && to != nullptr && number < *count) {
        from[number] = HandleOf(dependency);
        to[number] = HandleOf(node.get());
      }
      ++number;
    }
  }
  *count = from == nullptr ? number : std::min(number, *count);
  return CUDA_SUCCESS;
}

CUresult Dependencies(CUgraphNode handle, CUgraphNode* nodes, size_t* count) {
  const Guard guard;
  const GraphNode* node = FindNode(handle);
  if (node == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return HandOut(node->dependencies, nodes, count);
}

CUresult Dependents(CUgraphNode handle, CUgraphNode* nodes, size_t* count) {
  const Guard guard;
  GraphNode* node = FindNode(handle);
  if (node == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::vector<GraphNode*> found;
  for (const auto& other : node->graph->nodes) {
    const auto& all = other->dependencies;
    if (std::find(all.begin(), all.end(), node) != all.end()) found.push_back(other.get());
  }
  return HandOut(found, nodes, count);
}

CUresult ChangeEdges(CUgraph handle, const CUgraphNode* from, const CUgraphNode* to, size_t count,
                     bool add) {
  const Guard guard;
  const auto graph = TheDriver().graphs.Find(handle);
  if (graph == nullptr || (count > 0 && (from == nullptr || to == nullptr))) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (size_t i = 0; i < count; ++i) {
    GraphNode* first = FindNode(from[i]);
    GraphNode* second = FindNode(to[i]);
    if (!graph->Has(first) || !graph->Has(second)) return CUDA_ERROR_INVALID_VALUE;
    auto& all = second->dependencies;
    const bool exists = std::find(all.begin(), all.end(), first) != all.end();
    if (exists == add) return CUDA_ERROR_INVALID_VALUE;
    if (add) {
      all.push_back(first);
    } else {
      std::erase(all, first);
    }
  }
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult gpusim_cuGraphCreate(CUgraph* phGraph, unsigned flags) {
  const Guard guard;
  if (phGraph == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  *phGraph = HandleOf(AddGraph().get());
  return CUDA_SUCCESS;
}

CUresult gpusim_cuGraphDestroy(CUgraph hGraph) {
  const Guard guard;
  if (TheDriver().graphs.Find(hGraph) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  TheDriver().graphs.Remove(hGraph);
  return CUDA_SUCCESS;
}

CUresult gpusim_cuGraphClone(CUgraph* phGraphClone, CUgraph originalGraph) {
  const Guard guard;
  const auto graph = TheDriver().graphs.Find(originalGraph);
  if (phGraphClone == nullptr || graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (graph->Allocates()) return CUDA_ERROR_NOT_SUPPORTED;
  std::vector<GraphNode*> nodes;
  for (const auto& node : graph->nodes) nodes.push_back(node.get());
  const auto clone = AddGraph();
  clone->nodes = CopyNodes(nodes);
  for (const auto& node : clone->nodes) node->graph = clone.get();
  *phGraphClone = HandleOf(clone.get());
  return CUDA_SUCCESS;
}

CUresult gpusim_cuGraphNodeFindInClone(CUgraphNode* phNode, CUgraphNode hOriginalNode,
                                       CUgraph hClonedGraph) {
  const Guard guard;
  const GraphNode* original = FindNode(hOriginalNode);
  const auto clone = TheDriver().graphs.Find(hClonedGraph);
  if (phNode == nullptr || original == nullptr || clone == nullptr) return CUDA_ERROR_INVALID_VALUE;
  // Clones keep the ids of what they are copies of.
  for (const auto& node : clone->nodes) {
    if (node->id != original->id) continue;
    *phNode = HandleOf(node.get());
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult gpusim_cuGraphGetNodes(CUgraph hGraph, CUgraphNode* nodes, size_t* numNodes) {
  return Nodes(hGraph, nodes, numNodes, false);
}
CUresult gpusim_cuGraphGetRootNodes(CUgraph hGraph, CUgraphNode* rootNodes, size_t* numRootNodes) {
  return Nodes(hGraph, rootNodes, numRootNodes, true);
}
CUresult gpusim_cuGraphGetEdges(CUgraph hGraph, CUgraphNode* from, CUgraphNode* to,
                                size_t* numEdges) {
  return Edges(hGraph, from, to, numEdges);
}
CUresult gpusim_cuGraphGetEdges_v2(CUgraph hGraph, CUgraphNode* from, CUgraphNode* to,
                                   CUgraphEdgeData* edgeData, size_t* numEdges) {
  if (edgeData != nullptr && numEdges != nullptr)
    std::fill_n(edgeData, *numEdges, CUgraphEdgeData{});
  return Edges(hGraph, from, to, numEdges);
}
CUresult gpusim_cuGraphNodeGetDependencies(CUgraphNode hNode, CUgraphNode* dependencies,
                                           size_t* numDependencies) {
  return Dependencies(hNode, dependencies, numDependencies);
}
CUresult gpusim_cuGraphNodeGetDependencies_v2(CUgraphNode hNode, CUgraphNode* dependencies,
                                              CUgraphEdgeData* edgeData, size_t* numDependencies) {
  if (edgeData != nullptr && numDependencies != nullptr) {
    std::fill_n(edgeData, *numDependencies, CUgraphEdgeData{});
  }
  return Dependencies(hNode, dependencies, numDependencies);
}
CUresult gpusim_cuGraphNodeGetDependentNodes(CUgraphNode hNode, CUgraphNode* dependentNodes,
                                             size_t* numDependentNodes) {
  return Dependents(hNode, dependentNodes, numDependentNodes);
}
CUresult gpusim_cuGraphNodeGetDependentNodes_v2(CUgraphNode hNode, CUgraphNode* dependentNodes,
                                                CUgraphEdgeData* edgeData,
                                                size_t* numDependentNodes) {
  if (edgeData != nullptr && numDependentNodes != nullptr) {
    std::fill_n(edgeData, *numDependentNodes, CUgraphEdgeData{});
  }
  return Dependents(hNode, dependentNodes, numDependentNodes);
}
CUresult gpusim_cuGraphAddDependencies(CUgraph hGraph, const CUgraphNode* from,
                                       const CUgraphNode* to, size_t numDependencies) {
  return ChangeEdges(hGraph, from, to, numDependencies, true);
}
CUresult gpusim_cuGraphAddDependencies_v2(CUgraph hGraph, const CUgraphNode* from,
                                          const CUgraphNode* to, const CUgraphEdgeData*,
                                          size_t numDependencies) {
  return ChangeEdges(hGraph, from, to, numDependencies, true);
}
CUresult gpusim_cuGraphRemoveDependencies(CUgraph hGraph, const CUgraphNode* from,
                                          const CUgraphNode* to, size_t numDependencies) {
  return ChangeEdges(hGraph, from, to, numDependencies, false);
}
CUresult gpusim_cuGraphRemoveDependencies_v2(CUgraph hGraph, const CUgraphNode* from,
                                             const CUgraphNode* to, const CUgraphEdgeData*,
                                             size_t numDependencies) {
  return ChangeEdges(hGraph, from, to, numDependencies, false);
}

CUresult gpusim_cuGraphNodeGetType(CUgraphNode hNode, CUgraphNodeType* type) {
  const Guard guard;
  const GraphNode* node = FindNode(hNode);
  if (node == nullptr || type == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *type = node->type;
  return CUDA_SUCCESS;
}

CUresult gpusim_cuGraphDestroyNode(CUgraphNode hNode) {
  const Guard guard;
  GraphNode* node = FindNode(hNode);
  if (node == nullptr) return CUDA_ERROR_INVALID_VALUE;
  // A graph cannot forget its allocations (header).
  if (node->graph->Allocates()) return CUDA_ERROR_NOT_SUPPORTED;
  node->graph->Remove(node);
  return CUDA_SUCCESS;
}

CUresult gpusim_cuGraphGetId(CUgraph hGraph, unsigned* graphId) {
  const Guard guard;
  const auto graph = TheDriver().graphs.Find(hGraph);
  if (graph == nullptr || graphId == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *graphId = static_cast<unsigned>(graph->id);
  return CUDA_SUCCESS;
}

}  // extern "C"

}  // namespace gputrace::sim

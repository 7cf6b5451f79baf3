// SPDX-License-Identifier: Apache-2.0
// Graphs: nodes, edges, and what a launch does.
#ifndef GPUTRACE_SIMULATOR_DRIVER_GRAPH_H_
#define GPUTRACE_SIMULATOR_DRIVER_GRAPH_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "simulator/driver/driver.h"

namespace gputrace::sim {

struct GraphMemory;

struct GraphNode {
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  Graph* graph = nullptr;
  uint64_t id = 0;
  bool enabled = true;
  std::vector<GraphNode*> dependencies;

  std::function<void()> run;  // what a launch does for it; null: nothing
  // What the node was made from, by type.
  CUDA_KERNEL_NODE_PARAMS kernel = {};
  CUDA_MEMCPY3D copy = {};
  CUDA_MEMSET_NODE_PARAMS fill = {};
  CUDA_HOST_NODE_PARAMS host = {};
  std::shared_ptr<Graph> child;
  CUDA_MEM_ALLOC_NODE_PARAMS alloc = {};
  std::shared_ptr<GraphMemory>
      memory;  // of an allocation node, kept by its clones in executable graphs
  CUdeviceptr free_address = 0;
  CUevent event = nullptr;
};

struct Graph {
  std::vector<std::unique_ptr<GraphNode>> nodes;
  uint64_t id = 0;

  GraphNode* Add(std::unique_ptr<GraphNode> node);
  bool Has(const GraphNode* node) const;
  void Remove(GraphNode* node);
  // A graph may hold an allocation only once in the process, so those with such nodes cannot be
  // cloned.
  bool Allocates() const;
};

// A copy of a graph's nodes in an order in which they can run.
struct GraphExec {
  std::vector<std::unique_ptr<GraphNode>> nodes;
  unsigned long long flags = 0;
  uint64_t id = 0;
};

inline CUgraph HandleOf(const Graph* graph) { return HandleTable<Graph, CUgraph>::HandleOf(graph); }
inline CUgraphNode HandleOf(const GraphNode* node) {
  return reinterpret_cast<CUgraphNode>(const_cast<GraphNode*>(node));
}

// A new graph with a handle.
std::shared_ptr<Graph> AddGraph();

// The node of a handle; null if no graph has it.
GraphNode* FindNode(CUgraphNode handle);

// Nodes of a graph such that each comes after what it depends on; empty if there is a cycle.
std::vector<GraphNode*> InOrder(const Graph& graph);

// Copies of nodes, whose dependencies are among the copies.
std::vector<std::unique_ptr<GraphNode>> CopyNodes(const std::vector<GraphNode*>& nodes);

}  // namespace gputrace::sim

#endif  // GPUTRACE_SIMULATOR_DRIVER_GRAPH_H_

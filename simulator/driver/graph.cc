// SPDX-License-Identifier: Apache-2.0
#include "simulator/driver/graph.h"

#include <algorithm>
#include <map>
#include <set>

namespace gputrace::sim {

GraphNode* Graph::Add(std::unique_ptr<GraphNode> node) {
  node->graph = this;
  node->id = TheDriver().next_id++;
  nodes.push_back(std::move(node));
  return nodes.back().get();
}

bool Graph::Has(const GraphNode* node) const {
  return std::any_of(nodes.begin(), nodes.end(),
                     [node](const auto& own) { return own.get() == node; });
}

void Graph::Remove(GraphNode* node) {
  for (const auto& other : nodes) std::erase(other->dependencies, node);
  std::erase_if(nodes, [node](const auto& own) { return own.get() == node; });
}

bool Graph::Allocates() const {
  return std::any_of(nodes.begin(), nodes.end(), [](const auto& node) {
    return node->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || node->type == CU_GRAPH_NODE_TYPE_MEM_FREE;
  });
}

std::shared_ptr<Graph> AddGraph() {
  auto graph = std::make_shared<Graph>();
  graph->id = TheDriver().next_id++;
  TheDriver().graphs.Add(graph);
  return graph;
}

GraphNode* FindNode(CUgraphNode handle) {
  auto* node = reinterpret_cast<GraphNode*>(handle);
  const auto search = [node](const Graph& graph) { return graph.Has(node); };
  for (const auto& graph : TheDriver().graphs.All()) {
    if (search(*graph)) return node;
    for (const auto& own : graph->nodes) {
      if (own->child != nullptr && search(*own->child)) return node;
    }
  }
  return nullptr;
}

std::vector<GraphNode*> InOrder(const Graph& graph) {
  std::vector<GraphNode*> order;
  std::set<const GraphNode*> done;
  while (order.size() < graph.nodes.size()) {
    const size_t before = order.size();
    for (const auto& node : graph.nodes) {
      const bool ready =
          std::all_of(node->dependencies.begin(), node->dependencies.end(),
                      [&done](const GraphNode* other) { return done.contains(other); });
      if (!ready || !done.insert(node.get()).second) continue;
      order.push_back(node.get());
    }
    if (order.size() == before) return {};
  }
  return order;
}

std::vector<std::unique_ptr<GraphNode>> CopyNodes(const std::vector<GraphNode*>& nodes) {
  std::vector<std::unique_ptr<GraphNode>> copies;
  std::map<const GraphNode*, GraphNode*> copy_of;
  for (const GraphNode* node : nodes) {
    copies.push_back(std::make_unique<GraphNode>(*node));
    copy_of[node] = copies.back().get();
  }
  for (const auto& copy : copies) {
    for (GraphNode*& dependency : copy->dependencies) dependency = copy_of[dependency];
  }
  return copies;
}

}  // namespace gputrace::sim

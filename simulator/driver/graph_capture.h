// SPDX-License-Identifier: Apache-2.0
// Stream capture: calls become nodes of a graph.
#ifndef GPUTRACE_SIMULATOR_DRIVER_GRAPH_CAPTURE_H_
#define GPUTRACE_SIMULATOR_DRIVER_GRAPH_CAPTURE_H_

#include <memory>

#include "simulator/driver/graph.h"
#include "simulator/driver/stream.h"

namespace gputrace::sim {

// CUDA_ERROR_STREAM_CAPTURE_INVALIDATED if the stream's capture can only be ended.
CUresult CheckCapture(const Stream& stream);

// Adds a node after what the capturing stream has done so far. The node, or null if that is not
// allowed
// (*result says why).
GraphNode* CaptureNode(Stream* stream, std::unique_ptr<GraphNode> node, CUresult* result);

// The stream waits for an event of a capture: it takes part in that from now on.
CUresult JoinCapture(Stream* stream, const CaptureState& captured);

}  // namespace gputrace::sim

#endif  // GPUTRACE_SIMULATOR_DRIVER_GRAPH_CAPTURE_H_

// SPDX-License-Identifier: Apache-2.0
#include "simulator/driver/graph_capture.h"

#include <algorithm>

#include "bodies.h"

namespace gputrace::sim {
namespace {

void LeaveCapture(const Capture* capture) {
  const auto leave = [capture](Stream& stream) {
    if (stream.capturing.capture.get() == capture) stream.capturing = {};
  };
  for (const auto& stream : TheDriver().streams.All()) leave(*stream);
  for (const auto& context : TheDriver().contexts.All()) {
    for (const auto& [thread, stream] : context->per_thread_streams) leave(*stream);
  }
}

// Work of streams that joined has to come back to the origin before the end.
bool IsJoined(const Capture& capture) {
  std::vector<const GraphNode*> reachable(capture.origin->capturing.tail.begin(),
                                          capture.origin->capturing.tail.end());
  for (size_t i = 0; i < reachable.size(); ++i) {
    for (const GraphNode* node : reachable[i]->dependencies) {
      if (std::find(reachable.begin(), reachable.end(), node) == reachable.end()) {
        reachable.push_back(node);
      }
    }
  }
  for (const auto& stream : TheDriver().streams.All()) {
    if (stream->capturing.capture.get() != &capture) continue;
    for (const GraphNode* node : stream->capturing.tail) {
      if (std::find(reachable.begin(), reachable.end(), node) == reachable.end()) return false;
    }
  }
  return true;
}

CUresult Begin(CUstream handle, CUstreamCaptureMode mode, std::shared_ptr<Graph> graph,
               std::vector<GraphNode*> tail) {
  std::shared_ptr<Stream> stream;
  GPUSIM_TRY(FindStream(handle, &stream));
  // The legacy stream cannot be captured (header).
  if (stream == stream->context->legacy_stream) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (stream->capturing.active()) return CUDA_ERROR_ILLEGAL_STATE;
  const auto capture = std::make_shared<Capture>();
  capture->graph = graph != nullptr ? std::move(graph) : AddGraph();
  capture->id = TheDriver().next_id++;
  capture->mode = mode;
  capture->thread = ThreadId();
  capture->origin = stream.get();
  stream->capturing = {capture, std::move(tail)};
  return CUDA_SUCCESS;
}

}  // namespace

CUresult CheckCapture(const Stream& stream) {
  return stream.capturing.capture->invalidated ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
                                               : CUDA_SUCCESS;
}

GraphNode* CaptureNode(Stream* stream, std::unique_ptr<GraphNode> node, CUresult* result) {
  *result = CheckCapture(*stream);
  if (*result != CUDA_SUCCESS) return nullptr;
  node->dependencies = stream->capturing.tail;
  GraphNode* added = stream->capturing.capture->graph->Add(std::move(node));
  stream->capturing.tail = {added};
  return added;
}

CUresult JoinCapture(Stream* stream, const CaptureState& captured) {
  if (captured.capture->invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (stream == stream->context->legacy_stream.get()) {
    captured.capture->invalidated = true;
    return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  }
  if (stream->capturing.active() && stream->capturing.capture != captured.capture) {
    stream->capturing.capture->invalidated = true;
    captured.capture->invalidated = true;
    return CUDA_ERROR_STREAM_CAPTURE_MERGE;
  }
  stream->capturing.capture = captured.capture;
  for (GraphNode* node : captured.tail) {
    auto& tail = stream->capturing.tail;
    if (std::find(tail.begin(), tail.end(), node) == tail.end()) tail.push_back(node);
  }
  return CUDA_SUCCESS;
}

extern "C" {

CUresult gpusim_cuStreamBeginCapture_v2(CUstream hStream, CUstreamCaptureMode mode) {
  const Guard guard;
  if (mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
  return Begin(hStream, mode, nullptr, {});
}

CUresult gpusim_cuStreamBeginCapture(CUstream hStream) {
  return gpusim_cuStreamBeginCapture_v2(hStream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUresult gpusim_cuStreamBeginCaptureToGraph(CUstream hStream, CUgraph hGraph,
                                            const CUgraphNode* dependencies, const CUgraphEdgeData*,
                                            size_t numDependencies, CUstreamCaptureMode mode) {
  const Guard guard;
  const auto graph = TheDriver().graphs.Find(hGraph);
  if (graph == nullptr || (dependencies == nullptr && numDependencies > 0)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::vector<GraphNode*> tail;
  for (size_t i = 0; i < numDependencies; ++i) {
    tail.push_back(FindNode(dependencies[i]));
    if (!graph->Has(tail.back())) return CUDA_ERROR_INVALID_VALUE;
  }
  return Begin(hStream, mode, graph, std::move(tail));
}

CUresult gpusim_cuStreamEndCapture(CUstream hStream, CUgraph* phGraph) {
  const Guard guard;
  std::shared_ptr<Stream> stream;
  GPUSIM_TRY(FindStream(hStream, &stream));
  if (phGraph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *phGraph = nullptr;
  if (!stream->capturing.active()) return CUDA_ERROR_ILLEGAL_STATE;
  const std::shared_ptr<Capture> capture = stream->capturing.capture;
  if (capture->origin != stream.get()) {
    capture->invalidated = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  }
  if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != ThreadId()) {
    return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  }
  const bool joined = IsJoined(*capture);
  LeaveCapture(capture.get());
  if (capture->invalidated || !joined) {
    TheDriver().graphs.Remove(HandleOf(capture->graph.get()));
    return joined ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  }
  *phGraph = HandleOf(capture->graph.get());
  return CUDA_SUCCESS;
}

CUresult gpusim_cuStreamIsCapturing(CUstream hStream, CUstreamCaptureStatus* captureStatus) {
  const Guard guard;
  std::shared_ptr<Stream> stream;
  GPUSIM_TRY(FindStream(hStream, &stream));
  if (captureStatus == nullptr) return CUDA_ERROR_INVALID_VALUE;
  GPUSIM_TRY(CheckLegacyUse(*stream));
  *captureStatus = !stream->capturing.active()              ? CU_STREAM_CAPTURE_STATUS_NONE
                   : stream->capturing.capture->invalidated ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                                            : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  return CUDA_SUCCESS;
}

CUresult gpusim_cuStreamGetCaptureInfo_v2(CUstream hStream, CUstreamCaptureStatus* status_out,
                                          cuuint64_t* id_out, CUgraph* graph_out,
                                          const CUgraphNode** dependencies_out,
                                          size_t* numDependencies_out) {
  GPUSIM_TRY(gpusim_cuStreamIsCapturing(hStream, status_out));
  if (*status_out != CU_STREAM_CAPTURE_STATUS_ACTIVE) return CUDA_SUCCESS;
  const Guard guard;
  std::shared_ptr<Stream> stream;
  GPUSIM_TRY(FindStream(hStream, &stream));
  const CaptureState& state = stream->capturing;
  if (id_out != nullptr) *id_out = state.capture->id;
  if (graph_out != nullptr) *graph_out = HandleOf(state.capture->graph.get());
  // Valid until the next call on the stream (header): handles are the addresses of nodes.
  if (dependencies_out != nullptr) {
    *dependencies_out = reinterpret_cast<const CUgraphNode*>(state.tail.data());
  }
  if (numDependencies_out != nullptr) *numDependencies_out = state.tail.size();
  return CUDA_SUCCESS;
}

CUresult gpusim_cuStreamGetCaptureInfo_v3(CUstream hStream, CUstreamCaptureStatus* status_out,
                                          cuuint64_t* id_out, CUgraph* graph_out,
                                          const CUgraphNode** dependencies_out,
                                          const CUgraphEdgeData** edgeData_out,
                                          size_t* numDependencies_out) {
  if (edgeData_out != nullptr) *edgeData_out = nullptr;
  return gpusim_cuStreamGetCaptureInfo_v2(hStream, status_out, id_out, graph_out, dependencies_out,
                                          numDependencies_out);
}

CUresult gpusim_cuStreamGetCaptureInfo(CUstream hStream, CUstreamCaptureStatus* status_out,
                                       cuuint64_t* id_out) {
  return gpusim_cuStreamGetCaptureInfo_v2(hStream, status_out, id_out, nullptr, nullptr, nullptr);
}

CUresult gpusim_cuStreamUpdateCaptureDependencies(CUstream hStream, CUgraphNode* dependencies,
                                                  size_t numDependencies, unsigned flags) {
  const Guard guard;
  std::shared_ptr<Stream> stream;
  GPUSIM_TRY(FindStream(hStream, &stream));
  if (!stream->capturing.active()) return CUDA_ERROR_ILLEGAL_STATE;
  if (dependencies == nullptr && numDependencies > 0) return CUDA_ERROR_INVALID_VALUE;
  std::vector<GraphNode*> tail;
  if (flags == CU_STREAM_ADD_CAPTURE_DEPENDENCIES) tail = stream->capturing.tail;
  for (size_t i = 0; i < numDependencies; ++i) {
    GraphNode* node = FindNode(dependencies[i]);
    if (!stream->capturing.capture->graph->Has(node)) return CUDA_ERROR_INVALID_VALUE;
    tail.push_back(node);
  }
  stream->capturing.tail = std::move(tail);
  return CUDA_SUCCESS;
}

CUresult gpusim_cuStreamUpdateCaptureDependencies_v2(CUstream hStream, CUgraphNode* dependencies,
                                                     const CUgraphEdgeData*, size_t numDependencies,
                                                     unsigned flags) {
  return gpusim_cuStreamUpdateCaptureDependencies(hStream, dependencies, numDependencies, flags);
}

CUresult gpusim_cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  if (mode == nullptr || *mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
  *mode = ExchangeCaptureMode(*mode);
  return CUDA_SUCCESS;
}

}  // extern "C"

}  // namespace gputrace::sim

// SPDX-License-Identifier: Apache-2.0
// From a call to work on a stream, or to a node of the graph that the stream is captured into.
#include <utility>

#include "simulator/driver/copy.h"
#include "simulator/driver/graph_capture.h"

namespace gputrace::sim {

CUresult Perform(CUstream handle, std::unique_ptr<GraphNode> node, bool wait) {
  std::shared_ptr<Stream> stream;
  GPUSIM_TRY(FindStream(handle, &stream));
  GPUSIM_TRY(CheckLegacyUse(*stream));
  if (stream->capturing.active()) {
    if (wait) {
      stream->capturing.capture->invalidated = true;
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    CUresult result = CUDA_SUCCESS;
    CaptureNode(stream.get(), std::move(node), &result);
    return result;
  }
  SubmitOn(*stream, {.run = std::move(node->run),
                     .host_function = node->type == CU_GRAPH_NODE_TYPE_HOST,
                     .after = {}});
  // Waiting for a copy says nothing of what else was freed in stream order: pools are not told.
  if (wait) Await(Now(stream->timeline));
  return CUDA_SUCCESS;
}

}  // namespace gputrace::sim

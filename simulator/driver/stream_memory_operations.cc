// SPDX-License-Identifier: Apache-2.0
// Writes of single values in the order of a stream.
#include "bodies.h"
#include "simulator/driver/copy.h"

namespace gputrace::sim {
namespace {

template <typename Value>
CUresult WriteValue(CUstream stream, CUdeviceptr address, Value value) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(CurrentContext(&context));
  if (address % sizeof(Value) != 0 || !IsDriverMemory(address, sizeof(Value), Use::kWrite)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  auto node = std::make_unique<GraphNode>();
  node->type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
  node->run = [address, value] { *reinterpret_cast<volatile Value*>(address) = value; };
  return Perform(stream, std::move(node), false);
}

}  // namespace

extern "C" {

CUresult gpusim_cuStreamWriteValue32(CUstream stream, CUdeviceptr addr, cuuint32_t value,
                                     unsigned) {
  return WriteValue(stream, addr, value);
}
CUresult gpusim_cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr addr, cuuint32_t value,
                                        unsigned) {
  return WriteValue(stream, addr, value);
}
CUresult gpusim_cuStreamWriteValue64(CUstream stream, CUdeviceptr addr, cuuint64_t value,
                                     unsigned) {
  return WriteValue(stream, addr, value);
}
CUresult gpusim_cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr addr, cuuint64_t value,
                                        unsigned) {
  return WriteValue(stream, addr, value);
}

}  // extern "C"

}  // namespace gputrace::sim

// SPDX-License-Identifier: Apache-2.0
// cuMemcpy and its like for plain ranges of memory.
#include "bodies.h"
#include "simulator/driver/copy.h"

namespace gputrace::sim {
namespace {

constexpr auto kHost = CU_MEMORYTYPE_HOST;
constexpr auto kDevice = CU_MEMORYTYPE_DEVICE;
constexpr auto kUnified = CU_MEMORYTYPE_UNIFIED;

uint64_t Number(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

CUDA_MEMCPY3D Linear(CUmemorytype to, uint64_t destination, CUmemorytype from, uint64_t source,
                     size_t size) {
  CUDA_MEMCPY3D p = {};
  p.srcMemoryType = from;
  p.dstMemoryType = to;
  // Host and device addresses lie in two members, of which one counts.
  p.srcHost = reinterpret_cast<const void*>(source);
  p.srcDevice = source;
  p.dstHost = reinterpret_cast<void*>(destination);
  p.dstDevice = destination;
  p.WidthInBytes = size;
  p.Height = 1;
  p.Depth = 1;
  return p;
}

CUresult CopyLinear(CUmemorytype to, uint64_t destination, CUmemorytype from, uint64_t source,
                    size_t size, CUstream stream, bool wait) {
  return Copy(Linear(to, destination, from, source, size), stream, wait);
}

}  // namespace

CUresult Copy(const CUDA_MEMCPY3D& parameters, CUstream stream, bool wait) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(CurrentContext(&context));
  CopyPlan plan;
  GPUSIM_TRY(PlanCopy(parameters, &plan));
  auto node = std::make_unique<GraphNode>();
  node->type = CU_GRAPH_NODE_TYPE_MEMCPY;
  node->copy = parameters;
  node->run = [plan] { Run(plan); };
  return Perform(stream, std::move(node), wait);
}

extern "C" {

CUresult gpusim_cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount) {
  return CopyLinear(kUnified, dst, kUnified, src, ByteCount, nullptr, true);
}

CUresult gpusim_cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount,
                              CUstream hStream) {
  return CopyLinear(kUnified, dst, kUnified, src, ByteCount, hStream, false);
}

CUresult gpusim_cuMemcpyHtoD_v2(CUdeviceptr dstDevice, const void* srcHost, size_t ByteCount) {
  return CopyLinear(kDevice, dstDevice, kHost, Number(srcHost), ByteCount, nullptr, true);
}

CUresult gpusim_cuMemcpyDtoH_v2(void* dstHost, CUdeviceptr srcDevice, size_t ByteCount) {
  return CopyLinear(kHost, Number(dstHost), kDevice, srcDevice, ByteCount, nullptr, true);
}

CUresult gpusim_cuMemcpyDtoD_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount) {
  return CopyLinear(kDevice, dstDevice, kDevice, srcDevice, ByteCount, nullptr, false);
}

CUresult gpusim_cuMemcpyHtoDAsync_v2(CUdeviceptr dstDevice, const void* srcHost, size_t ByteCount,
                                     CUstream hStream) {
  return CopyLinear(kDevice, dstDevice, kHost, Number(srcHost), ByteCount, hStream, false);
}

CUresult gpusim_cuMemcpyDtoHAsync_v2(void* dstHost, CUdeviceptr srcDevice, size_t ByteCount,
                                     CUstream hStream) {
  return CopyLinear(kHost, Number(dstHost), kDevice, srcDevice, ByteCount, hStream, false);
}

CUresult gpusim_cuMemcpyDtoDAsync_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount,
                                     CUstream hStream) {
  return CopyLinear(kDevice, dstDevice, kDevice, srcDevice, ByteCount, hStream, false);
}

CUresult gpusim_cuMemcpyPeer(CUdeviceptr dstDevice, CUcontext, CUdeviceptr srcDevice, CUcontext,
                             size_t ByteCount) {
  return CopyLinear(kDevice, dstDevice, kDevice, srcDevice, ByteCount, nullptr, false);
}

CUresult gpusim_cuMemcpyPeerAsync(CUdeviceptr dstDevice, CUcontext, CUdeviceptr srcDevice,
                                  CUcontext, size_t ByteCount, CUstream hStream) {
  return CopyLinear(kDevice, dstDevice, kDevice, srcDevice, ByteCount, hStream, false);
}

CUresult gpusim_cuMemcpyWithAttributesAsync(CUdeviceptr dst, CUdeviceptr src, size_t size,
                                            CUmemcpyAttributes*, CUstream hStream) {
  return CopyLinear(kUnified, dst, kUnified, src, size, hStream, false);
}

CUresult gpusim_cuMemcpyBatchAsync_v2(CUdeviceptr* dsts, CUdeviceptr* srcs, size_t* sizes,
                                      size_t count, CUmemcpyAttributes* attrs, size_t* attrsIdxs,
                                      size_t numAttrs, CUstream hStream) {
  if (dsts == nullptr || srcs == nullptr || sizes == nullptr || count == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (attrs == nullptr || attrsIdxs == nullptr || numAttrs == 0) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < count; ++i) {
    GPUSIM_TRY(CopyLinear(kUnified, dsts[i], kUnified, srcs[i], sizes[i], hStream, false));
  }
  return CUDA_SUCCESS;
}

CUresult gpusim_cuMemcpyBatchAsync(CUdeviceptr* dsts, CUdeviceptr* srcs, size_t* sizes,
                                   size_t count, CUmemcpyAttributes* attrs, size_t* attrsIdxs,
                                   size_t numAttrs, size_t* failIdx, CUstream hStream) {
  if (failIdx != nullptr) *failIdx = SIZE_MAX;
  return gpusim_cuMemcpyBatchAsync_v2(dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs,
                                      hStream);
}

}  // extern "C"

}  // namespace gputrace::sim

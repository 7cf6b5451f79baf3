// SPDX-License-Identifier: Apache-2.0
// cuMemAllocAsync and cuMemFreeAsync: allocation in the order of a stream.
#include "bodies.h"
#include "simulator/driver/graph_capture.h"
#include "simulator/driver/graph_memory.h"
#include "simulator/driver/pool.h"
#include "simulator/driver/stream.h"

namespace gputrace::sim {
namespace {

// While a stream is capturing nothing is allocated: the graph gets a node that will.
CUresult CaptureAllocation(Stream* stream, const Pool& pool, size_t size, CUdeviceptr* address) {
  GPUSIM_TRY(CheckCapture(*stream));
  if (pool.device < 0) return CUDA_ERROR_NOT_SUPPORTED;
  auto node = std::make_unique<GraphNode>();
  node->type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
  node->memory = MakeGraphMemory(pool.device, size);
  if (node->memory == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  node->alloc.poolProps = pool.props;
  node->alloc.bytesize = size;
  node->alloc.dptr = node->memory->address;
  *address = node->memory->address;
  CUresult result = CUDA_SUCCESS;
  CaptureNode(stream, std::move(node), &result);
  return result;
}

CUresult Allocate(CUdeviceptr* dptr, size_t size, const std::shared_ptr<Pool>& pool,
                  Stream* stream) {
  if (dptr == nullptr || size == 0 || pool->imported) return CUDA_ERROR_INVALID_VALUE;
  GPUSIM_TRY(CheckLegacyUse(*stream));
  if (stream->capturing.active()) return CaptureAllocation(stream, *pool, size, dptr);
  const uint64_t address = pool->Allocate(size, *stream->timeline);
  if (address == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  SubmitOn(*stream, {});
  TheDriver().allocations.Add({.kind = MemoryKind::kPool,
                               .address = address,
                               .size = size,
                               .device = pool->device,
                               .pool = pool});
  *dptr = address;
  return CUDA_SUCCESS;
}

CUresult CaptureFree(Stream* stream, CUdeviceptr address) {
  GPUSIM_TRY(CheckCapture(*stream));
  // "Must be passed the address of a graph allocation" (header): another's is known already.
  const Allocation* allocation = TheDriver().allocations.At(address);
  if (allocation != nullptr && allocation->kind != MemoryKind::kGraph) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  auto node = std::make_unique<GraphNode>();
  node->type = CU_GRAPH_NODE_TYPE_MEM_FREE;
  node->free_address = address;
  CUresult result = CUDA_SUCCESS;
  CaptureNode(stream, std::move(node), &result);
  return result;
}

}  // namespace

extern "C" {

CUresult gpusim_cuMemAllocAsync(CUdeviceptr* dptr, size_t bytesize, CUstream hStream) {
  const Guard guard;
  std::shared_ptr<Stream> stream;
  GPUSIM_TRY(FindStream(hStream, &stream));
  const auto device = static_cast<size_t>(stream->context->device);
  return Allocate(dptr, bytesize, TheDriver().devices[device]->current_pool, stream.get());
}

CUresult gpusim_cuMemAllocFromPoolAsync(CUdeviceptr* dptr, size_t bytesize, CUmemoryPool handle,
                                        CUstream hStream) {
  const Guard guard;
  std::shared_ptr<Stream> stream;
  GPUSIM_TRY(FindStream(hStream, &stream));
  const auto pool = TheDriver().pools.Find(handle);
  if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Allocate(dptr, bytesize, pool, stream.get());
}

CUresult gpusim_cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream) {
  const Guard guard;
  std::shared_ptr<Stream> stream;
  GPUSIM_TRY(FindStream(hStream, &stream));
  GPUSIM_TRY(CheckLegacyUse(*stream));
  if (dptr == 0) return CUDA_ERROR_INVALID_VALUE;
  if (stream->capturing.active()) return CaptureFree(stream.get(), dptr);
  Allocation* allocation = TheDriver().allocations.At(dptr);
  if (allocation == nullptr) return CUDA_ERROR_INVALID_VALUE;
  switch (allocation->kind) {
    case MemoryKind::kPool: {
      SubmitOn(*stream, {});
      allocation->pool->FreeInOrder(dptr, allocation->size, Now(stream->timeline));
      TheDriver().allocations.Remove(*allocation);
      return CUDA_SUCCESS;
    }
    // Memory that was not allocated in stream order is freed at once. Whether a real driver takes
    // that of cuMemAlloc is assumed.
    case MemoryKind::kDevice:
    case MemoryKind::kGraph:
    case MemoryKind::kImported:
      SynchronizeStream(*stream);
      Release(allocation);
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // extern "C"

}  // namespace gputrace::sim

// SPDX-License-Identifier: Apache-2.0
// Streams: life, queries, synchronisation.
#include <algorithm>

#include "bodies.h"
#include "simulator/driver/green_context.h"
#include "simulator/driver/stream.h"

namespace gputrace::sim {
namespace {

constexpr int kHighestPriority = -5;

CUresult Destroy(CUstream handle) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(CurrentContext(&context));
  const auto stream = TheDriver().streams.Find(handle);
  if (IsDefaultStreamHandle(handle) || stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capturing.active()) stream->capturing.capture->invalidated = true;
  // Returns at once; work that is queued runs on.
  TheDriver().ledger.Remove("stream", HandleNumber(handle));
  TheDriver().streams.Remove(handle);
  return CUDA_SUCCESS;
}

// Finds a stream for a query of one of its properties.
template <typename Value>
CUresult Query(CUstream handle, Value* out, Value (*property)(const Stream&)) {
  const Guard guard;
  std::shared_ptr<Stream> stream;
  GPUSIM_TRY(FindStream(handle, &stream));
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = property(*stream);
  return CUDA_SUCCESS;
}

CUcontext ContextOf(const Stream& stream) { return HandleOf(stream.context); }

}  // namespace

CUstream AddStream(Context* context, unsigned flags, int priority,
                   std::shared_ptr<GreenContext> green) {
  const auto stream = std::make_shared<Stream>();
  stream->context = context;
  stream->flags = flags;
  stream->priority = std::clamp(priority, kHighestPriority, 0);
  stream->id = TheDriver().next_id++;
  stream->green = std::move(green);
  const CUstream handle = TheDriver().streams.Add(stream);
  TheDriver().ledger.Add({.kind = "stream",
                          .device = context->device,
                          .context = reinterpret_cast<uint64_t>(context),
                          .handle = HandleNumber(handle)});
  return handle;
}

extern "C" {

CUresult gpusim_cuStreamCreateWithPriority(CUstream* phStream, unsigned flags, int priority) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(CurrentContext(&context));
  if (phStream == nullptr || (flags & ~CU_STREAM_NON_BLOCKING) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  *phStream = AddStream(context, flags, priority, nullptr);
  return CUDA_SUCCESS;
}

CUresult gpusim_cuStreamCreate(CUstream* phStream, unsigned Flags) {
  return gpusim_cuStreamCreateWithPriority(phStream, Flags, 0);
}

CUresult gpusim_cuStreamDestroy(CUstream hStream) { return Destroy(hStream); }
CUresult gpusim_cuStreamDestroy_v2(CUstream hStream) { return Destroy(hStream); }

CUresult gpusim_cuStreamSynchronize(CUstream hStream) {
  const Guard guard;
  std::shared_ptr<Stream> stream;
  GPUSIM_TRY(FindStream(hStream, &stream));
  GPUSIM_TRY(CheckLegacyUse(*stream));
  if (stream->capturing.active()) {
    stream->capturing.capture->invalidated = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  SynchronizeStream(*stream);
  return CUDA_SUCCESS;
}

CUresult gpusim_cuStreamQuery(CUstream hStream) {
  const Guard guard;
  std::shared_ptr<Stream> stream;
  GPUSIM_TRY(FindStream(hStream, &stream));
  GPUSIM_TRY(CheckLegacyUse(*stream));
  if (stream->capturing.active()) {
    stream->capturing.capture->invalidated = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return Observe(Now(stream->timeline)) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult gpusim_cuStreamGetFlags(CUstream hStream, unsigned* flags) {
  return Query<unsigned>(hStream, flags, [](const Stream& stream) { return stream.flags; });
}
CUresult gpusim_cuStreamGetPriority(CUstream hStream, int* priority) {
  return Query<int>(hStream, priority, [](const Stream& stream) { return stream.priority; });
}
CUresult gpusim_cuStreamGetId(CUstream hStream, unsigned long long* streamId) {
  return Query<unsigned long long>(
      hStream, streamId, [](const Stream& stream) -> unsigned long long { return stream.id; });
}
CUresult gpusim_cuStreamGetCtx(CUstream hStream, CUcontext* pctx) {
  return Query<CUcontext>(hStream, pctx, ContextOf);
}
CUresult gpusim_cuStreamGetDevice(CUstream hStream, CUdevice* device) {
  return Query<CUdevice>(hStream, device,
                         [](const Stream& stream) { return stream.context->device; });
}
CUresult gpusim_cuStreamGetGreenCtx(CUstream hStream, CUgreenCtx* phCtx) {
  return Query<CUgreenCtx>(hStream, phCtx, [](const Stream& stream) {
    return HandleTable<GreenContext, CUgreenCtx>::HandleOf(stream.green.get());
  });
}

CUresult gpusim_cuStreamGetCtx_v2(CUstream hStream, CUcontext* pCtx, CUgreenCtx* pGreenCtx) {
  if (pGreenCtx != nullptr) GPUSIM_TRY(gpusim_cuStreamGetGreenCtx(hStream, pGreenCtx));
  return gpusim_cuStreamGetCtx(hStream, pCtx);
}

CUresult gpusim_cuStreamGetAttribute(CUstream hStream, CUstreamAttrID,
                                     CUstreamAttrValue* value_out) {
  return Query<CUstreamAttrValue>(hStream, value_out,
                                  [](const Stream&) { return CUstreamAttrValue{}; });
}

CUresult gpusim_cuStreamSetAttribute(CUstream hStream, CUstreamAttrID,
                                     const CUstreamAttrValue* value) {
  const Guard guard;
  std::shared_ptr<Stream> stream;
  GPUSIM_TRY(FindStream(hStream, &stream));
  return value == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult gpusim_cuStreamCopyAttributes(CUstream dst, CUstream src) {
  const Guard guard;
  std::shared_ptr<Stream> stream;
  GPUSIM_TRY(FindStream(dst, &stream));
  return FindStream(src, &stream);
}

CUresult gpusim_cuStreamAttachMemAsync(CUstream hStream, CUdeviceptr dptr, size_t, unsigned) {
  const Guard guard;
  std::shared_ptr<Stream> stream;
  GPUSIM_TRY(FindStream(hStream, &stream));
  const Allocation* allocation = TheDriver().allocations.Containing(dptr);
  const bool managed = allocation != nullptr && allocation->kind == MemoryKind::kManaged;
  return managed ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // extern "C"

}  // namespace gputrace::sim

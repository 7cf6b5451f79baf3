// SPDX-License-Identifier: Apache-2.0
// Contexts: created ones, and which one is current.
#include "bodies.h"
#include "simulator/driver/context.h"

namespace gputrace::sim {
namespace {

CUresult Create(CUcontext* handle, unsigned flags, CUdevice ordinal, unsigned api_version) {
  const Guard guard;
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Device* device = nullptr;
  GPUSIM_TRY(FindDevice(ordinal, &device));
  const auto context = std::make_shared<Context>();
  context->device = ordinal;
  context->flags = flags;
  context->api_version = api_version;
  GPUSIM_TRY(Activate(context.get()));
  *handle = TheDriver().contexts.Add(context);
  PushContext(*handle);
  return CUDA_SUCCESS;
}

CUresult Destroy(CUcontext handle) {
  const Guard guard;
  const auto context = TheDriver().contexts.Find(handle);
  if (context == nullptr || context->primary) return CUDA_ERROR_INVALID_CONTEXT;
  Deactivate(context.get());
  TheDriver().contexts.Remove(handle);
  // It is popped if it is on top of the calling thread's stack; elsewhere it is left and stale
  // (header).
  if (TopContext() == handle) PopContext();
  return CUDA_SUCCESS;
}

CUresult Push(CUcontext handle) {
  const Guard guard;
  if (TheDriver().contexts.Find(handle) == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  PushContext(handle);
  return CUDA_SUCCESS;
}

CUresult Pop(CUcontext* handle) {
  const Guard guard;
  if (ContextDepth() == 0) return CUDA_ERROR_INVALID_CONTEXT;
  const CUcontext top = PopContext();
  if (handle != nullptr) *handle = top;
  return CUDA_SUCCESS;
}

CUresult DeviceOf(CUdevice* device, CUcontext handle) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(FindContext(handle, &context));
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *device = context->device;
  return CUDA_SUCCESS;
}

CUresult Synchronize(CUcontext handle) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(FindContext(handle, &context));
  for (const auto& stream : TheDriver().streams.All()) {
    if (stream->context == context && stream->capturing.active()) {
      stream->capturing.capture->invalidated = true;
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
  }
  SynchronizeContext(context);
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult gpusim_cuCtxCreate(CUcontext* pctx, unsigned flags, CUdevice dev) {
  return Create(pctx, flags, dev, 3010);
}
CUresult gpusim_cuCtxCreate_v2(CUcontext* pctx, unsigned flags, CUdevice dev) {
  return Create(pctx, flags, dev, 3020);
}
CUresult gpusim_cuCtxCreate_v3(CUcontext* pctx, CUexecAffinityParam*, int, unsigned flags,
                               CUdevice dev) {
  return Create(pctx, flags, dev, 3020);
}
CUresult gpusim_cuCtxCreate_v4(CUcontext* pctx, CUctxCreateParams*, unsigned flags, CUdevice dev) {
  return Create(pctx, flags, dev, 3020);
}
CUresult gpusim_cuGLCtxCreate_v2(CUcontext* pctx, unsigned flags, CUdevice dev) {
  return Create(pctx, flags, dev, 3020);
}
CUresult gpusim_cuCtxDestroy(CUcontext ctx) { return Destroy(ctx); }
CUresult gpusim_cuCtxDestroy_v2(CUcontext ctx) { return Destroy(ctx); }

CUresult gpusim_cuCtxAttach(CUcontext* pctx, unsigned) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(CurrentContext(&context));
  if (pctx == nullptr) return CUDA_ERROR_INVALID_VALUE;
  ++context->references;
  *pctx = HandleOf(context);
  return CUDA_SUCCESS;
}

CUresult gpusim_cuCtxDetach(CUcontext ctx) {
  {
    const Guard guard;
    const auto context = TheDriver().contexts.Find(ctx);
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    if (context->references > 0) {
      --context->references;
      return CUDA_SUCCESS;
    }
  }
  return Destroy(ctx);
}

CUresult gpusim_cuCtxPushCurrent(CUcontext ctx) { return Push(ctx); }
CUresult gpusim_cuCtxPushCurrent_v2(CUcontext ctx) { return Push(ctx); }
CUresult gpusim_cuCtxPopCurrent(CUcontext* pctx) { return Pop(pctx); }
CUresult gpusim_cuCtxPopCurrent_v2(CUcontext* pctx) { return Pop(pctx); }

// A primary context may be made current before it is retained: the runtime library does so.
CUresult gpusim_cuCtxSetCurrent(CUcontext ctx) {
  const Guard guard;
  if (ctx != nullptr && TheDriver().contexts.Find(ctx) == nullptr)
    return CUDA_ERROR_INVALID_CONTEXT;
  ReplaceTopContext(ctx);
  return CUDA_SUCCESS;
}

CUresult gpusim_cuCtxGetCurrent(CUcontext* pctx) {
  if (pctx == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Guard guard;
  *pctx = TopContext();
  return CUDA_SUCCESS;
}

CUresult gpusim_cuCtxGetDevice(CUdevice* device) { return DeviceOf(device, nullptr); }
CUresult gpusim_cuCtxGetDevice_v2(CUdevice* device, CUcontext ctx) { return DeviceOf(device, ctx); }

CUresult gpusim_cuCtxGetId(CUcontext ctx, unsigned long long* ctxId) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(FindContext(ctx, &context));
  if (ctxId == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *ctxId = context->id;
  return CUDA_SUCCESS;
}

CUresult gpusim_cuCtxGetApiVersion(CUcontext ctx, unsigned* version) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(FindContext(ctx, &context));
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *version = context->api_version;
  return CUDA_SUCCESS;
}

CUresult gpusim_cuCtxGetFlags(unsigned* flags) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(CurrentContext(&context));
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = context->flags;
  return CUDA_SUCCESS;
}

CUresult gpusim_cuCtxSetFlags(unsigned flags) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(CurrentContext(&context));
  context->flags = flags;
  return CUDA_SUCCESS;
}

CUresult gpusim_cuCtxSynchronize() { return Synchronize(nullptr); }
CUresult gpusim_cuCtxSynchronize_v2(CUcontext ctx) { return Synchronize(ctx); }

}  // extern "C"

}  // namespace gputrace::sim

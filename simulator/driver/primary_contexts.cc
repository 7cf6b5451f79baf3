// SPDX-License-Identifier: Apache-2.0
// The primary context of each device: reference counted, one handle for the life of the process.
#include "bodies.h"
#include "simulator/driver/context.h"

namespace gputrace::sim {
namespace {

CUresult ReleasePrimary(CUdevice ordinal) {
  const Guard guard;
  Device* device = nullptr;
  GPUSIM_TRY(FindDevice(ordinal, &device));
  if (device->primary->references == 0) return CUDA_ERROR_INVALID_CONTEXT;
  if (--device->primary->references == 0) Deactivate(device->primary.get());
  return CUDA_SUCCESS;
}

// Ends what the context holds, however often it is retained.
CUresult ResetPrimary(CUdevice ordinal) {
  const Guard guard;
  Device* device = nullptr;
  GPUSIM_TRY(FindDevice(ordinal, &device));
  if (device->primary->alive) Deactivate(device->primary.get());
  return CUDA_SUCCESS;
}

CUresult SetPrimaryFlags(CUdevice ordinal, unsigned flags) {
  const Guard guard;
  Device* device = nullptr;
  GPUSIM_TRY(FindDevice(ordinal, &device));
  device->primary_flags = flags;
  device->primary->flags = flags;
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult gpusim_cuDevicePrimaryCtxRetain(CUcontext* pctx, CUdevice dev) {
  const Guard guard;
  Device* device = nullptr;
  GPUSIM_TRY(FindDevice(dev, &device));
  if (pctx == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Context* context = device->primary.get();
  if (!context->alive) {
    context->flags = device->primary_flags;
    GPUSIM_TRY(Activate(context));
  }
  ++context->references;
  *pctx = HandleOf(context);
  return CUDA_SUCCESS;
}

CUresult gpusim_cuDevicePrimaryCtxRelease(CUdevice dev) { return ReleasePrimary(dev); }
CUresult gpusim_cuDevicePrimaryCtxRelease_v2(CUdevice dev) { return ReleasePrimary(dev); }
CUresult gpusim_cuDevicePrimaryCtxReset(CUdevice dev) { return ResetPrimary(dev); }
CUresult gpusim_cuDevicePrimaryCtxReset_v2(CUdevice dev) { return ResetPrimary(dev); }
CUresult gpusim_cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned flags) {
  return SetPrimaryFlags(dev, flags);
}
CUresult gpusim_cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned flags) {
  return SetPrimaryFlags(dev, flags);
}

CUresult gpusim_cuDevicePrimaryCtxGetState(CUdevice dev, unsigned* flags, int* active) {
  const Guard guard;
  Device* device = nullptr;
  GPUSIM_TRY(FindDevice(dev, &device));
  if (flags == nullptr || active == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = device->primary_flags;
  *active = device->primary->alive ? 1 : 0;
  return CUDA_SUCCESS;
}

}  // extern "C"

}  // namespace gputrace::sim

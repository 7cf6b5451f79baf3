// SPDX-License-Identifier: Apache-2.0
// A driver that does nothing but hand out addresses: what a call costs beside it is the tracer's
// cost, not the noise of a simulation. Not thread-safe.
#include <cuda.h>

#include <cstddef>
#include <cstdint>

namespace {

constexpr uint32_t kFreed = 256;  // addresses that are handed out again, the first freed first
CUdeviceptr g_freed[kFreed];
uint32_t g_freed_count;
uint32_t g_reused_count;
CUdeviceptr g_next = 0x7000'0000'0000;
int g_context;

}  // namespace

extern "C" {

CUresult cuInit(unsigned) { return CUDA_SUCCESS; }
CUresult cuDriverGetVersion(int* version) {
  *version = CUDA_VERSION;
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
  *context = reinterpret_cast<CUcontext>(&g_context);
  return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext) { return CUDA_SUCCESS; }
CUresult cuCtxGetCurrent(CUcontext* context) { return cuDevicePrimaryCtxRetain(context, 0); }
CUresult cuCtxGetDevice(CUdevice* device) {
  *device = 0;
  return CUDA_SUCCESS;
}

CUresult cuMemAlloc(CUdeviceptr* address, size_t bytes) {
  if (g_reused_count != g_freed_count) {
    *address = g_freed[g_reused_count++ % kFreed];
  } else {
    *address = g_next;
    g_next += bytes;
  }
  return CUDA_SUCCESS;
}

CUresult cuMemFree(CUdeviceptr address) {
  g_freed[g_freed_count++ % kFreed] = address;
  return CUDA_SUCCESS;
}

}  // extern "C"

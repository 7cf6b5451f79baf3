// SPDX-License-Identifier: Apache-2.0
// Green contexts, as far as programs can be run in one: processors are counted, not shared out.
#include "simulator/driver/green_context.h"

#include <algorithm>
#include <map>

#include "bodies.h"
#include "simulator/driver/context.h"
#include "simulator/driver/device_attributes.h"

namespace gputrace::sim {
namespace {

// Processors come in groups of these. As the header says of compute capability 9.
constexpr unsigned kMinProcessors = 8;

// What descriptors stand for, by number.
std::map<CUdevResourceDesc, CUdevResource>& Descriptors() {
  static auto* instance = new std::map<CUdevResourceDesc, CUdevResource>;
  return *instance;
}

CUresult ProcessorsOf(CUdevice device, CUdevResource* resource, CUdevResourceType type) {
  if (resource == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
  int count = 0;
  GPUSIM_TRY(DeviceAttribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device, &count));
  *resource = {};
  resource->type = type;
  resource->sm.smCount = static_cast<unsigned>(count);
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult gpusim_cuDeviceGetDevResource(CUdevice dev, CUdevResource* resource,
                                       CUdevResourceType type) {
  const Guard guard;
  Device* device = nullptr;
  GPUSIM_TRY(FindDevice(dev, &device));
  return ProcessorsOf(dev, resource, type);
}

CUresult gpusim_cuCtxGetDevResource(CUcontext hCtx, CUdevResource* resource,
                                    CUdevResourceType type) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(FindContext(hCtx, &context));
  return ProcessorsOf(context->device, resource, type);
}

CUresult gpusim_cuGreenCtxGetDevResource(CUgreenCtx hCtx, CUdevResource* resource,
                                         CUdevResourceType type) {
  const Guard guard;
  const auto green = TheDriver().green_contexts.Find(hCtx);
  if (green == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (resource == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
  *resource = green->resource;
  return CUDA_SUCCESS;
}

CUresult gpusim_cuDevSmResourceSplitByCount(CUdevResource* result, unsigned* nbGroups,
                                            const CUdevResource* input, CUdevResource* remainder,
                                            unsigned, unsigned minCount) {
  if (nbGroups == nullptr || input == nullptr || input->type != CU_DEV_RESOURCE_TYPE_SM) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const unsigned size =
      (std::max(minCount, kMinProcessors) + kMinProcessors - 1) / kMinProcessors * kMinProcessors;
  const unsigned possible = input->sm.smCount / size;
  *nbGroups = result == nullptr ? possible : std::min(*nbGroups, possible);
  for (unsigned i = 0; result != nullptr && i < *nbGroups; ++i) {
    result[i] = *input;
    result[i].sm.smCount = size;
  }
  if (remainder != nullptr) {
    *remainder = *input;
    remainder->sm.smCount = input->sm.smCount - *nbGroups * size;
  }
  return CUDA_SUCCESS;
}

CUresult gpusim_cuDevResourceGenerateDesc(CUdevResourceDesc* phDesc, CUdevResource* resources,
                                          unsigned nbResources) {
  const Guard guard;
  if (phDesc == nullptr || resources == nullptr || nbResources == 0)
    return CUDA_ERROR_INVALID_VALUE;
  *phDesc = reinterpret_cast<CUdevResourceDesc>(TheDriver().next_id++);
  CUdevResource sum = resources[0];
  for (unsigned i = 1; i < nbResources; ++i) sum.sm.smCount += resources[i].sm.smCount;
  Descriptors()[*phDesc] = sum;
  return CUDA_SUCCESS;
}

CUresult gpusim_cuGreenCtxCreate(CUgreenCtx* phCtx, CUdevResourceDesc desc, CUdevice dev,
                                 unsigned) {
  CUcontext primary = nullptr;
  GPUSIM_TRY(gpusim_cuDevicePrimaryCtxRetain(&primary, dev));
  const Guard guard;
  const auto described = Descriptors().find(desc);
  if (phCtx == nullptr || described == Descriptors().end()) return CUDA_ERROR_INVALID_VALUE;
  const auto green = std::make_shared<GreenContext>();
  green->context = TheDriver().contexts.Find(primary).get();
  green->resource = described->second;
  green->id = TheDriver().next_id++;
  *phCtx = TheDriver().green_contexts.Add(green);
  TheDriver().ledger.Add({.kind = "green_context",
                          .device = dev,
                          .context = HandleNumber(primary),
                          .handle = HandleNumber(*phCtx)});
  return CUDA_SUCCESS;
}

// Its streams stay (header).
CUresult gpusim_cuGreenCtxDestroy(CUgreenCtx hCtx) {
  int device = 0;
  {
    const Guard guard;
    const auto green = TheDriver().green_contexts.Find(hCtx);
    if (green == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    device = green->context->device;
    TheDriver().ledger.Remove("green_context", HandleNumber(hCtx));
    TheDriver().green_contexts.Remove(hCtx);
  }
  // A reset may have taken all references before.
  gpusim_cuDevicePrimaryCtxRelease_v2(device);
  return CUDA_SUCCESS;
}

CUresult gpusim_cuCtxFromGreenCtx(CUcontext* pContext, CUgreenCtx hCtx) {
  const Guard guard;
  const auto green = TheDriver().green_contexts.Find(hCtx);
  if (pContext == nullptr || green == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pContext = HandleOf(green->context);
  return CUDA_SUCCESS;
}

CUresult gpusim_cuGreenCtxGetId(CUgreenCtx greenCtx, unsigned long long* greenCtxId) {
  const Guard guard;
  const auto green = TheDriver().green_contexts.Find(greenCtx);
  if (greenCtxId == nullptr || green == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *greenCtxId = green->id;
  return CUDA_SUCCESS;
}

CUresult gpusim_cuGreenCtxStreamCreate(CUstream* phStream, CUgreenCtx greenCtx, unsigned flags,
                                       int priority) {
  const Guard guard;
  const auto green = TheDriver().green_contexts.Find(greenCtx);
  // Such streams never wait for the default stream (header).
  if (phStream == nullptr || green == nullptr || flags != CU_STREAM_NON_BLOCKING) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  // A reset of the primary context has taken the ground from under it. Assumed.
  if (!green->context->alive) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  *phStream = AddStream(green->context, flags, priority, green);
  return CUDA_SUCCESS;
}

}  // extern "C"

}  // namespace gputrace::sim

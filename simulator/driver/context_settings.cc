// SPDX-License-Identifier: Apache-2.0
// Limits and preferences of a context, peer access between contexts.
#include "bodies.h"
#include "simulator/driver/context.h"

namespace gputrace::sim {

extern "C" {

CUresult gpusim_cuCtxGetLimit(size_t* pvalue, CUlimit limit) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(CurrentContext(&context));
  if (pvalue == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (static_cast<unsigned>(limit) >= kLimitCount) return CUDA_ERROR_UNSUPPORTED_LIMIT;
  *pvalue = context->limits[limit];
  return CUDA_SUCCESS;
}

CUresult gpusim_cuCtxSetLimit(CUlimit limit, size_t value) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(CurrentContext(&context));
  if (static_cast<unsigned>(limit) >= kLimitCount) return CUDA_ERROR_UNSUPPORTED_LIMIT;
  // The header says that these can only be queried.
  if (limit == CU_LIMIT_SHMEM_SIZE || limit == CU_LIMIT_CIG_ENABLED) {
    return CUDA_ERROR_UNSUPPORTED_LIMIT;
  }
  context->limits[limit] = value;
  return CUDA_SUCCESS;
}

CUresult gpusim_cuCtxGetCacheConfig(CUfunc_cache* pconfig) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(CurrentContext(&context));
  if (pconfig == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pconfig = CU_FUNC_CACHE_PREFER_NONE;
  return CUDA_SUCCESS;
}

CUresult gpusim_cuCtxGetSharedMemConfig(CUsharedconfig* pConfig) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(CurrentContext(&context));
  if (pConfig == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pConfig = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
  return CUDA_SUCCESS;
}

CUresult gpusim_cuCtxGetStreamPriorityRange(int* leastPriority, int* greatestPriority) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(CurrentContext(&context));
  if (leastPriority != nullptr) *leastPriority = 0;
  if (greatestPriority != nullptr) *greatestPriority = -5;
  return CUDA_SUCCESS;
}

CUresult gpusim_cuCtxGetExecAffinity(CUexecAffinityParam* pExecAffinity, CUexecAffinityType type) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(CurrentContext(&context));
  if (pExecAffinity == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (type != CU_EXEC_AFFINITY_TYPE_SM_COUNT) return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
  *pExecAffinity = {};
  pExecAffinity->type = type;
  pExecAffinity->param.smCount.val = 132;
  return CUDA_SUCCESS;
}

CUresult gpusim_cuCtxEnablePeerAccess(CUcontext peerContext, unsigned flags) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(CurrentContext(&context));
  const auto peer = TheDriver().contexts.Find(peerContext);
  if (peer == nullptr || !peer->alive || peer.get() == context) return CUDA_ERROR_INVALID_CONTEXT;
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (peer->device == context->device) return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
  const bool added = context->peers.emplace(peer.get(), true).second;
  return added ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}

CUresult gpusim_cuCtxDisablePeerAccess(CUcontext peerContext) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(CurrentContext(&context));
  const auto peer = TheDriver().contexts.Find(peerContext);
  if (peer == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return context->peers.erase(peer.get()) == 1 ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}

}  // extern "C"

}  // namespace gputrace::sim

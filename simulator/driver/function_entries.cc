// SPDX-License-Identifier: Apache-2.0
// cuFunc… and cuLaunch…. Kernels do nothing.
#include "bodies.h"
#include "simulator/driver/copy.h"
#include "simulator/driver/function_attributes.h"
#include "simulator/driver/module.h"

namespace gputrace::sim {
namespace {

constexpr unsigned kMaxThreads = 1024;

CUresult Launch(const CUDA_KERNEL_NODE_PARAMS& kernel, CUstream stream) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(CurrentContext(&context));
  Function* function = nullptr;
  GPUSIM_TRY(FunctionOf(kernel.func, &function));
  const uint64_t threads = uint64_t{kernel.blockDimX} * kernel.blockDimY * kernel.blockDimZ;
  const uint64_t blocks = uint64_t{kernel.gridDimX} * kernel.gridDimY * kernel.gridDimZ;
  if (threads == 0 || threads > kMaxThreads || blocks == 0) return CUDA_ERROR_INVALID_VALUE;
  auto node = std::make_unique<GraphNode>();
  node->type = CU_GRAPH_NODE_TYPE_KERNEL;
  node->kernel = kernel;
  return Perform(stream, std::move(node), false);
}

CUresult Find(CUfunction handle, Function** function) {
  Context* context = nullptr;
  GPUSIM_TRY(CurrentContext(&context));
  return FunctionOf(handle, function);
}

}  // namespace

CUresult FunctionAttribute(const std::map<int, int>& set, CUfunction_attribute attribute,
                           int* value) {
  if (value == nullptr || attribute < 0 || attribute >= CU_FUNC_ATTRIBUTE_MAX) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const auto found = set.find(attribute);
  if (found != set.end()) {
    *value = found->second;
    return CUDA_SUCCESS;
  }
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *value = kMaxThreads;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      *value = 32;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      *value = 90;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      *value = 49152;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      *value = -1;
      return CUDA_SUCCESS;
    default:
      *value = 0;
      return CUDA_SUCCESS;
  }
}

CUresult SetFunctionAttribute(std::map<int, int>* set, CUfunction_attribute attribute, int value) {
  if (attribute < CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ||
      attribute >= CU_FUNC_ATTRIBUTE_MAX) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  (*set)[attribute] = value;
  return CUDA_SUCCESS;
}

extern "C" {

CUresult gpusim_cuFuncGetAttribute(int* pi, CUfunction_attribute attrib, CUfunction hfunc) {
  const Guard guard;
  Function* function = nullptr;
  GPUSIM_TRY(Find(hfunc, &function));
  return FunctionAttribute(function->attributes, attrib, pi);
}

CUresult gpusim_cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value) {
  const Guard guard;
  Function* function = nullptr;
  GPUSIM_TRY(Find(hfunc, &function));
  return SetFunctionAttribute(&function->attributes, attrib, value);
}

CUresult gpusim_cuFuncGetName(const char** name, CUfunction hfunc) {
  const Guard guard;
  Function* function = nullptr;
  GPUSIM_TRY(Find(hfunc, &function));
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *name = function->name.c_str();
  return CUDA_SUCCESS;
}

CUresult gpusim_cuFuncGetModule(CUmodule* hmod, CUfunction hfunc) {
  const Guard guard;
  Function* function = nullptr;
  GPUSIM_TRY(Find(hfunc, &function));
  if (hmod == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *hmod = TheDriver().modules.HandleOf(function->module);
  return CUDA_SUCCESS;
}

CUresult gpusim_cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction function_handle) {
  const Guard guard;
  Function* function = nullptr;
  GPUSIM_TRY(Find(function_handle, &function));
  if (state == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *state = CU_FUNCTION_LOADING_STATE_LOADED;
  return CUDA_SUCCESS;
}

// What parameters a kernel has is not read from its image.
CUresult gpusim_cuFuncGetParamInfo(CUfunction, size_t, size_t*, size_t*) {
  return CUDA_ERROR_INVALID_VALUE;
}
CUresult gpusim_cuKernelGetParamInfo(CUkernel, size_t, size_t*, size_t*) {
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult gpusim_cuLaunchKernel(CUfunction f, unsigned gridDimX, unsigned gridDimY,
                               unsigned gridDimZ, unsigned blockDimX, unsigned blockDimY,
                               unsigned blockDimZ, unsigned sharedMemBytes, CUstream hStream,
                               void** kernelParams, void** extra) {
  return Launch({f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes,
                 kernelParams, extra, nullptr, nullptr},
                hStream);
}

CUresult gpusim_cuLaunchCooperativeKernel(CUfunction f, unsigned gridDimX, unsigned gridDimY,
                                          unsigned gridDimZ, unsigned blockDimX, unsigned blockDimY,
                                          unsigned blockDimZ, unsigned sharedMemBytes,
                                          CUstream hStream, void** kernelParams) {
  return Launch({f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes,
                 kernelParams, nullptr, nullptr, nullptr},
                hStream);
}

CUresult gpusim_cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction f, void** kernelParams,
                                 void** extra) {
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Launch({f, config->gridDimX, config->gridDimY, config->gridDimZ, config->blockDimX,
                 config->blockDimY, config->blockDimZ, config->sharedMemBytes, kernelParams, extra,
                 nullptr, nullptr},
                config->hStream);
}

// Host functions run on a thread of the driver, in the order of the stream.
CUresult gpusim_cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void* userData) {
  const Guard guard;
  if (fn == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto node = std::make_unique<GraphNode>();
  node->type = CU_GRAPH_NODE_TYPE_HOST;
  node->host = {fn, userData};
  node->run = [fn, userData] { fn(userData); };
  return Perform(hStream, std::move(node), false);
}

CUresult gpusim_cuLaunchHostFunc_v2(CUstream hStream, CUhostFn fn, void* userData, unsigned) {
  return gpusim_cuLaunchHostFunc(hStream, fn, userData);
}

CUresult gpusim_cuStreamAddCallback(CUstream hStream, CUstreamCallback callback, void* userData,
                                    unsigned flags) {
  const Guard guard;
  if (callback == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Stream> stream;
  GPUSIM_TRY(FindStream(hStream, &stream));
  if (stream->capturing.active()) {
    stream->capturing.capture->invalidated = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  auto node = std::make_unique<GraphNode>();
  node->type = CU_GRAPH_NODE_TYPE_HOST;
  node->run = [=] { callback(hStream, CUDA_SUCCESS, userData); };
  return Perform(hStream, std::move(node), false);
}

}  // extern "C"

}  // namespace gputrace::sim

// SPDX-License-Identifier: Apache-2.0
// Contexts: primary ones, created ones, the threads' stacks of them.
#include "simulator/driver/journal.h"
#include "simulator/driver/state.h"

namespace gputrace::sim {
namespace {

// What a context takes of its device: the order of magnitude that real drivers show. Assumed.
constexpr size_t kContextBytes = 256 * kMiB;

constexpr int kMaxDepth = 64;
// No destructor: the driver is called from other threads' and objects' destructors.
struct ContextStack {
  Context* contexts[kMaxDepth];
  int depth;
};
__thread ContextStack t_stack;

Context* FromHandle(CUcontext handle) {
  auto* context = reinterpret_cast<Context*>(handle);
  for (Device& device : state().devices) {
    if (context == &device.primary) return context;
  }
  for (Context* known : state().contexts) {
    if (known == context) return context;
  }
  return nullptr;
}
CUcontext ToHandle(Context* context) { return reinterpret_cast<CUcontext>(context); }

CUresult Activate(Context* context, const char* call) {
  if (context->alive) return CUDA_SUCCESS;
  const CUresult result = TakePhysical(context->device, kContextBytes);
  if (result != CUDA_SUCCESS) return result;
  context->alive = true;
  NoteChange({call, '+', "context", 0, kContextBytes, context->device,
              reinterpret_cast<uint64_t>(context), 0, 0});
  return CUDA_SUCCESS;
}

void Deactivate(Context* context, const char* call) {
  if (!context->alive) return;
  FreeContextMemory(context, call);
  context->alive = false;
  context->references = 0;
  ReturnPhysical(context->device, kContextBytes);
  NoteChange({call, '-', "context", 0, kContextBytes, context->device,
              reinterpret_cast<uint64_t>(context), 0, 0});
}

void SetTop(Context* context) {
  if (t_stack.depth == 0) t_stack.depth = 1;
  t_stack.contexts[t_stack.depth - 1] = context;
}

CUresult Create(CUcontext* handle, CUdevice device, const char* call) {
  const Locked locked;
  if (!state().initialised) return CUDA_ERROR_NOT_INITIALIZED;
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!IsDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  if (t_stack.depth == kMaxDepth) return CUDA_ERROR_OUT_OF_MEMORY;
  auto* context = new Context;
  context->device = device;
  context->references = 1;
  state().contexts.push_back(context);
  if (const CUresult result = Activate(context, call); result != CUDA_SUCCESS) return result;
  t_stack.contexts[t_stack.depth++] = context;
  *handle = ToHandle(context);
  return CUDA_SUCCESS;
}

CUresult Destroy(CUcontext handle, const char* call) {
  const Locked locked;
  Context* context = FromHandle(handle);
  if (context == nullptr || !context->alive || context->primary) return CUDA_ERROR_INVALID_CONTEXT;
  Deactivate(context, call);
  // It is popped if it is on top of the calling thread's stack (header).
  if (t_stack.depth > 0 && t_stack.contexts[t_stack.depth - 1] == context) --t_stack.depth;
  return CUDA_SUCCESS;
}

CUresult ReleasePrimary(CUdevice device, const char* call) {
  const Locked locked;
  if (!state().initialised) return CUDA_ERROR_NOT_INITIALIZED;
  if (!IsDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  Context* context = &state().devices[static_cast<size_t>(device)].primary;
  if (context->references == 0) return CUDA_ERROR_INVALID_CONTEXT;
  if (--context->references == 0) Deactivate(context, call);
  return CUDA_SUCCESS;
}

CUresult ResetPrimary(CUdevice device, const char* call) {
  const Locked locked;
  if (!state().initialised) return CUDA_ERROR_NOT_INITIALIZED;
  if (!IsDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  Deactivate(&state().devices[static_cast<size_t>(device)].primary, call);
  return CUDA_SUCCESS;
}

}  // namespace

Context* CurrentContext() { return t_stack.depth == 0 ? nullptr : t_stack.contexts[t_stack.depth - 1]; }

CUresult NeedContext(Context** context) {
  if (!state().initialised) return CUDA_ERROR_NOT_INITIALIZED;
  Context* current = CurrentContext();
  if (current == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (!current->alive) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  *context = current;
  return CUDA_SUCCESS;
}

CUresult Sim_cuCtxCreate_v2(CUcontext* context, unsigned int, CUdevice device) {
  return Create(context, device, "cuCtxCreate_v2");
}
CUresult Sim_cuCtxCreate(CUcontext* context, unsigned int, CUdevice device) {
  return Create(context, device, "cuCtxCreate");
}
CUresult Sim_cuCtxCreate_v3(CUcontext* context, CUexecAffinityParam*, int, unsigned int,
                            CUdevice device) {
  return Create(context, device, "cuCtxCreate_v3");
}
CUresult Sim_cuCtxCreate_v4(CUcontext* context, CUctxCreateParams*, unsigned int, CUdevice device) {
  return Create(context, device, "cuCtxCreate_v4");
}
CUresult Sim_cuCtxDestroy_v2(CUcontext context) { return Destroy(context, "cuCtxDestroy_v2"); }
CUresult Sim_cuCtxDestroy(CUcontext context) { return Destroy(context, "cuCtxDestroy"); }

CUresult Sim_cuCtxSetCurrent(CUcontext handle) {
  const Locked locked;
  if (!state().initialised) return CUDA_ERROR_NOT_INITIALIZED;
  if (handle == nullptr) {
    if (t_stack.depth > 0) --t_stack.depth;
    return CUDA_SUCCESS;
  }
  Context* context = FromHandle(handle);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  SetTop(context);
  return CUDA_SUCCESS;
}

CUresult Sim_cuCtxGetCurrent(CUcontext* handle) {
  const Locked locked;
  if (!state().initialised) return CUDA_ERROR_NOT_INITIALIZED;
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *handle = ToHandle(CurrentContext());
  return CUDA_SUCCESS;
}

CUresult Sim_cuCtxPushCurrent_v2(CUcontext handle) {
  const Locked locked;
  if (!state().initialised) return CUDA_ERROR_NOT_INITIALIZED;
  Context* context = FromHandle(handle);
  if (context == nullptr || t_stack.depth == kMaxDepth) return CUDA_ERROR_INVALID_CONTEXT;
  t_stack.contexts[t_stack.depth++] = context;
  return CUDA_SUCCESS;
}
CUresult Sim_cuCtxPushCurrent(CUcontext handle) { return Sim_cuCtxPushCurrent_v2(handle); }

CUresult Sim_cuCtxPopCurrent_v2(CUcontext* handle) {
  const Locked locked;
  if (!state().initialised) return CUDA_ERROR_NOT_INITIALIZED;
  if (t_stack.depth == 0) return CUDA_ERROR_INVALID_CONTEXT;
  Context* context = t_stack.contexts[--t_stack.depth];
  if (handle != nullptr) *handle = ToHandle(context);
  return CUDA_SUCCESS;
}
CUresult Sim_cuCtxPopCurrent(CUcontext* handle) { return Sim_cuCtxPopCurrent_v2(handle); }

CUresult Sim_cuCtxGetDevice(CUdevice* device) {
  const Locked locked;
  Context* context = nullptr;
  if (const CUresult result = NeedContext(&context); result != CUDA_SUCCESS) return result;
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *device = context->device;
  return CUDA_SUCCESS;
}

CUresult Sim_cuCtxGetDevice_v2(CUdevice* device, CUcontext handle) {
  if (handle == nullptr) return Sim_cuCtxGetDevice(device);
  const Locked locked;
  Context* context = FromHandle(handle);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *device = context->device;
  return CUDA_SUCCESS;
}

CUresult Sim_cuCtxGetApiVersion(CUcontext, unsigned int* version) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *version = 3020;
  return CUDA_SUCCESS;
}

CUresult Sim_cuCtxGetLimit(size_t* value, CUlimit limit) {
  const Locked locked;
  Context* context = nullptr;
  if (const CUresult result = NeedContext(&context); result != CUDA_SUCCESS) return result;
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *value = limit == CU_LIMIT_STACK_SIZE ? 1024 : 8 * kMiB;
  return CUDA_SUCCESS;
}

CUresult Sim_cuCtxSetLimit(CUlimit, size_t) {
  const Locked locked;
  Context* context = nullptr;
  return NeedContext(&context);
}

CUresult Sim_cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = -5;
  return CUDA_SUCCESS;
}

CUresult Sim_cuCtxGetFlags(unsigned int* flags) {
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = 0;
  return CUDA_SUCCESS;
}

CUresult Sim_cuCtxSynchronize() {
  const Locked locked;
  Context* context = nullptr;
  if (const CUresult result = NeedContext(&context); result != CUDA_SUCCESS) return result;
  SynchronizePools(nullptr);
  return CUDA_SUCCESS;
}
CUresult Sim_cuCtxSynchronize_v2(CUcontext handle) {
  if (handle == nullptr) return Sim_cuCtxSynchronize();
  const Locked locked;
  if (FromHandle(handle) == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  SynchronizePools(nullptr);
  return CUDA_SUCCESS;
}

CUresult Sim_cuDevicePrimaryCtxRetain(CUcontext* handle, CUdevice device) {
  const Locked locked;
  if (!state().initialised) return CUDA_ERROR_NOT_INITIALIZED;
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!IsDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  Context* context = &state().devices[static_cast<size_t>(device)].primary;
  if (const CUresult result = Activate(context, "cuDevicePrimaryCtxRetain"); result != CUDA_SUCCESS) {
    return result;
  }
  ++context->references;
  *handle = ToHandle(context);
  return CUDA_SUCCESS;
}
CUresult Sim_cuDevicePrimaryCtxRelease(CUdevice device) {
  return ReleasePrimary(device, "cuDevicePrimaryCtxRelease");
}
CUresult Sim_cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  return ReleasePrimary(device, "cuDevicePrimaryCtxRelease_v2");
}
CUresult Sim_cuDevicePrimaryCtxReset(CUdevice device) {
  return ResetPrimary(device, "cuDevicePrimaryCtxReset");
}
CUresult Sim_cuDevicePrimaryCtxReset_v2(CUdevice device) {
  return ResetPrimary(device, "cuDevicePrimaryCtxReset_v2");
}

CUresult Sim_cuDevicePrimaryCtxGetState(CUdevice device, unsigned int* flags, int* active) {
  const Locked locked;
  if (!IsDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  if (flags != nullptr) *flags = 0;
  if (active != nullptr) *active = state().devices[static_cast<size_t>(device)].primary.alive ? 1 : 0;
  return CUDA_SUCCESS;
}

}  // namespace gputrace::sim

// SPDX-License-Identifier: Apache-2.0
// Contexts of every ABI, primary contexts and their references, and which one is current.
#include "tests/truth/player.h"

namespace gputrace::truth {
namespace {

void Create(Turn& t) {
  CUcontext context = nullptr;
  const auto device = static_cast<CUdevice>(t.number(2));
  CUresult result = CUDA_SUCCESS;
  switch (t.number(1)) {
    case 0:
      result = cuCtxCreate(&context, 0, device);
      break;
    case 1:
      result = cuCtxCreate_v2(&context, 0, device);
      break;
    case 2:
      result = cuCtxCreate_v3(&context, nullptr, 0, 0, device);
      break;
    default:
      result = cuCtxCreate_v4(&context, nullptr, 0, device);
  }
  t.Fill(0, result, context);
}

void Destroy(Turn& t, CUresult (*destroy)(CUcontext)) {
  const auto context = t.as<CUcontext>(0);
  if (destroy(context) == CUDA_SUCCESS) t.player.ForgetContext(context);
  t.Empty(0);
  // It may be deeper in this thread's stack still, where its handle would stand for a context that
  // another thread makes.
  CUcontext popped = nullptr;
  while (cuCtxPopCurrent_v2(&popped) == CUDA_SUCCESS) {
  }
  cuCtxSetCurrent(t.player.primary(t.number(1)));
}

void Reset(Turn& t) {
  const auto device = static_cast<CUdevice>(t.number(0));
  const CUresult result =
      t.number(1) == 0 ? cuDevicePrimaryCtxReset(device) : cuDevicePrimaryCtxReset_v2(device);
  if (result == CUDA_SUCCESS) t.player.ForgetContext(t.player.primary(t.number(0)));
}

void Release(Turn& t) {
  const auto device = static_cast<CUdevice>(t.number(0));
  const CUresult result =
      t.number(1) == 0 ? cuDevicePrimaryCtxRelease(device) : cuDevicePrimaryCtxRelease_v2(device);
  unsigned flags = 0;
  int active = 1;
  cuDevicePrimaryCtxGetState(device, &flags, &active);
  if (result == CUDA_SUCCESS && active == 0) {
    t.player.ForgetContext(t.player.primary(t.number(0)));
  }
}

void CreateGreen(Turn& t) {
  const auto device = static_cast<CUdevice>(t.number(1));
  CUdevResource resource = {};
  CUdevResourceDesc description = nullptr;
  if (cuDeviceGetDevResource(device, &resource, CU_DEV_RESOURCE_TYPE_SM) != CUDA_SUCCESS) return;
  cuDevResourceGenerateDesc(&description, &resource, 1);
  CUgreenCtx green = nullptr;
  const CUresult result =
      cuGreenCtxCreate(&green, description, device, CU_GREEN_CTX_DEFAULT_STREAM);
  t.Fill(0, result, green);
}

void UseGreen(Turn& t) {
  CUcontext context = nullptr;
  if (cuCtxFromGreenCtx(&context, t.as<CUgreenCtx>(0)) == CUDA_SUCCESS) cuCtxSetCurrent(context);
}

void CreateGreenStream(Turn& t) {
  CUstream stream = nullptr;
  const CUresult result =
      cuGreenCtxStreamCreate(&stream, t.as<CUgreenCtx>(1), CU_STREAM_NON_BLOCKING, 0);
  t.Fill(0, result, stream);
  cuStreamGetCtx(stream, &t.slot(0).context);
}

}  // namespace

void AddContextOperations(std::vector<Operation>* operations) {
  const auto add = [operations](auto... parts) { operations->emplace_back(parts...); };
  using Arguments = std::vector<Argument>;
  const Arguments device = {Below(2), Below(2)};
  add("CtxCreate", 2, When::kAnytime, Arguments{New(Type::kContext), Below(4), Below(3)}, Create);
  add("CtxDestroy", 1, When::kAnytime, Arguments{Take(Type::kContext), Below(2)},
      [](Turn& t) { Destroy(t, cuCtxDestroy_v2); });
  add("CtxDestroyV1", 1, When::kAnytime, Arguments{Take(Type::kContext), Below(2)},
      [](Turn& t) { Destroy(t, cuCtxDestroy); });
  add("CtxDestroyAgain", 1, When::kSerial, Arguments{Below(8)}, [](Turn& t) {
    const auto context = reinterpret_cast<CUcontext>(t.player.Stale(Type::kContext, t.number(0)));
    if (cuCtxDestroy_v2(context) == CUDA_SUCCESS) t.player.ForgetContext(context);
  });
  add("CtxSetCurrent", 5, When::kAnytime, Arguments{Use(Type::kContext)},
      [](Turn& t) { cuCtxSetCurrent(t.as<CUcontext>(0)); });
  add("CtxSetPrimary", 10, When::kAnytime, Arguments{Below(2)},
      [](Turn& t) { cuCtxSetCurrent(t.player.primary(t.number(0))); });
  add("CtxPush", 2, When::kAnytime, Arguments{Use(Type::kContext), Below(2)}, [](Turn& t) {
    if (t.number(1) == 0) cuCtxPushCurrent(t.as<CUcontext>(0));
    if (t.number(1) == 1) cuCtxPushCurrent_v2(t.as<CUcontext>(0));
  });
  add("CtxPop", 1, When::kAnytime, Arguments{Below(2)}, [](Turn& t) {
    CUcontext context = nullptr;
    if (t.number(0) == 0) cuCtxPopCurrent(&context);
    if (t.number(0) == 1) cuCtxPopCurrent_v2(&context);
  });
  add("CtxAttach", 6, When::kSerial, Arguments{}, [](Turn&) {
    CUcontext context = nullptr;
    cuCtxAttach(&context, 0);
  });
  add("CtxDetach", 6, When::kSerial, Arguments{Use(Type::kContext)}, [](Turn& t) {
    const auto context = t.as<CUcontext>(0);
    unsigned version = 0;
    const bool detached = cuCtxDetach(context) == CUDA_SUCCESS;
    if (detached && cuCtxGetApiVersion(context, &version) != CUDA_SUCCESS) {
      t.player.ForgetContext(context);
      t.Empty(0);
    }
  });
  add("PrimaryRetain", 3, When::kAnytime, Arguments{Below(3)}, [](Turn& t) {
    CUcontext context = nullptr;
    cuDevicePrimaryCtxRetain(&context, static_cast<CUdevice>(t.number(0)));
  });
  add("PrimaryRelease", 6, When::kSerial, device, Release);
  add("PrimaryReset", 1, When::kSerial, device, Reset);
  add("GreenCtxCreate", 1, When::kAnytime, Arguments{New(Type::kGreen), Below(2)}, CreateGreen);
  add("GreenCtxDestroy", 1, When::kSerial, Arguments{Take(Type::kGreen)}, [](Turn& t) {
    CUcontext context = nullptr;
    CUdevice of = 0;
    cuCtxFromGreenCtx(&context, t.as<CUgreenCtx>(0));
    cuGreenCtxDestroy(t.as<CUgreenCtx>(0));
    t.Empty(0);
    if (cuCtxGetDevice_v2(&of, context) != CUDA_SUCCESS) t.player.ForgetContext(context);
  });
  add("CtxFromGreenCtx", 1, When::kAnytime, Arguments{Use(Type::kGreen)}, UseGreen);
  add("GreenCtxStreamCreate", 1, When::kAnytime, Arguments{New(Type::kStream), Use(Type::kGreen)},
      CreateGreenStream);
  add("CtxSetLimit", 1, When::kAnytime, Arguments{Below(4)},
      [](Turn& t) { cuCtxSetLimit(static_cast<CUlimit>(t.number(0)), size_t{1} << 16); });
}

}  // namespace gputrace::truth

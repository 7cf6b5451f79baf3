// SPDX-License-Identifier: Apache-2.0
// cuModule…: loading, functions and variables of a module, and the linker, which hands out what it
// is given.
#include <map>

#include "bodies.h"
#include "simulator/driver/context.h"
#include "simulator/driver/module.h"

namespace gputrace::sim {
namespace {

CUresult LoadImage(CUmodule* module, const Image& image) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(CurrentContext(&context));
  if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return LoadModule(context, image, nullptr, module);
}

CUresult LoadData(CUmodule* module, const void* data) {
  {
    const Guard guard;
    Context* context = nullptr;
    GPUSIM_TRY(CurrentContext(&context));
  }
  Image image;
  GPUSIM_TRY(ReadImage(data, &image));
  return LoadImage(module, image);
}

struct Link {
  std::string image;
};
std::map<CUlinkState, Link>& Links() {
  static auto* instance = new std::map<CUlinkState, Link>;
  return *instance;
}

}  // namespace

extern "C" {

CUresult gpusim_cuModuleLoad(CUmodule* module, const char* fname) {
  {
    const Guard guard;
    Context* context = nullptr;
    GPUSIM_TRY(CurrentContext(&context));
  }
  Image image;
  GPUSIM_TRY(ReadImageFile(fname, &image));
  return LoadImage(module, image);
}
CUresult gpusim_cuModuleLoadData(CUmodule* module, const void* image) {
  return LoadData(module, image);
}
CUresult gpusim_cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned, CUjit_option*,
                                   void**) {
  return LoadData(module, image);
}
CUresult gpusim_cuModuleLoadFatBinary(CUmodule* module, const void* fatCubin) {
  return LoadData(module, fatCubin);
}

CUresult gpusim_cuModuleUnload(CUmodule hmod) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(CurrentContext(&context));
  const auto module = TheDriver().modules.Find(hmod);
  if (module == nullptr || module->library != nullptr) return CUDA_ERROR_INVALID_HANDLE;
  UnloadModule(module);
  return CUDA_SUCCESS;
}

CUresult gpusim_cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *mode = CU_MODULE_EAGER_LOADING;
  return CUDA_SUCCESS;
}

CUresult gpusim_cuModuleGetFunction(CUfunction* hfunc, CUmodule hmod, const char* name) {
  const Guard guard;
  const auto module = TheDriver().modules.Find(hmod);
  if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (hfunc == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Function* function = FindFunction(module.get(), name);
  if (function == nullptr) return CUDA_ERROR_NOT_FOUND;
  *hfunc = reinterpret_cast<CUfunction>(function);
  return CUDA_SUCCESS;
}

CUresult gpusim_cuModuleGetFunctionCount(unsigned* count, CUmodule mod) {
  const Guard guard;
  const auto module = TheDriver().modules.Find(mod);
  if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *count = static_cast<unsigned>(module->image.functions.size());
  return CUDA_SUCCESS;
}

CUresult gpusim_cuModuleEnumerateFunctions(CUfunction* functions, unsigned numFunctions,
                                           CUmodule mod) {
  const Guard guard;
  const auto module = TheDriver().modules.Find(mod);
  if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (functions == nullptr) return CUDA_ERROR_INVALID_VALUE;
  unsigned i = 0;
  for (const std::string& name : module->image.functions) {
    if (i == numFunctions) break;
    functions[i++] = reinterpret_cast<CUfunction>(FindFunction(module.get(), name));
  }
  return CUDA_SUCCESS;
}

CUresult gpusim_cuModuleGetGlobal_v2(CUdeviceptr* dptr, size_t* bytes, CUmodule hmod,
                                     const char* name) {
  const Guard guard;
  const auto module = TheDriver().modules.Find(hmod);
  if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (name == nullptr || (dptr == nullptr && bytes == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  uint64_t address = 0;
  uint64_t size = 0;
  GPUSIM_TRY(FindGlobal(module.get(), name, &address, &size));
  if (dptr != nullptr) *dptr = address;
  if (bytes != nullptr) *bytes = size;
  return CUDA_SUCCESS;
}

CUresult gpusim_cuLinkCreate_v2(unsigned, CUjit_option*, void**, CUlinkState* stateOut) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(CurrentContext(&context));
  if (stateOut == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *stateOut = reinterpret_cast<CUlinkState>(TheDriver().next_id++);
  Links()[*stateOut] = {};
  return CUDA_SUCCESS;
}

CUresult gpusim_cuLinkAddData_v2(CUlinkState state, CUjitInputType, void* data, size_t size,
                                 const char*, unsigned, CUjit_option*, void**) {
  const Guard guard;
  const auto link = Links().find(state);
  if (link == Links().end()) return CUDA_ERROR_INVALID_HANDLE;
  if (data == nullptr || size == 0) return CUDA_ERROR_INVALID_VALUE;
  link->second.image.assign(static_cast<const char*>(data), size);
  return CUDA_SUCCESS;
}

CUresult gpusim_cuLinkComplete(CUlinkState state, void** cubinOut, size_t* sizeOut) {
  const Guard guard;
  const auto link = Links().find(state);
  if (link == Links().end()) return CUDA_ERROR_INVALID_HANDLE;
  if (cubinOut == nullptr || sizeOut == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *cubinOut = link->second.image.data();
  *sizeOut = link->second.image.size();
  return CUDA_SUCCESS;
}

CUresult gpusim_cuLinkDestroy(CUlinkState state) {
  const Guard guard;
  return Links().erase(state) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

}  // extern "C"

}  // namespace gputrace::sim

// SPDX-License-Identifier: Apache-2.0
// Modules and libraries. Any image is accepted; its functions exist and do nothing when launched.
#include <cstdio>
#include <string>

#include "simulator/driver/state.h"

namespace gputrace::sim {
namespace {

constexpr size_t kGlobalBytes = 4096;  // of any global variable that is asked for

Module* FromHandle(const void* handle) {
  for (Module* module : state().modules) {
    if (module == handle && module->alive) return module;
  }
  return nullptr;
}

template <typename Handle>
CUresult Load(Handle* out, const void* image, bool library) {
  const Locked locked;
  Context* context = nullptr;
  if (!library) {
    if (const CUresult result = NeedContext(&context); result != CUDA_SUCCESS) return result;
  }
  if (!state().initialised) return CUDA_ERROR_NOT_INITIALIZED;
  if (out == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto* module = new Module;
  module->context = context;
  module->library = library;
  state().modules.push_back(module);
  *out = reinterpret_cast<Handle>(module);
  return CUDA_SUCCESS;
}

CUresult Unload(const void* handle) {
  const Locked locked;
  Module* module = FromHandle(handle);
  if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  module->alive = false;
  return CUDA_SUCCESS;
}

CUresult Global(CUdeviceptr* address, size_t* bytes, const void* handle, const char* name) {
  const Locked locked;
  Module* module = FromHandle(handle);
  if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUdeviceptr& global = module->globals[name];
  if (global == 0) global = MapMemory(kGlobalBytes);
  if (address != nullptr) *address = global;
  if (bytes != nullptr) *bytes = kGlobalBytes;
  return CUDA_SUCCESS;
}

// One function object serves for all: nothing is remembered of them.
template <typename Handle>
CUresult Function(Handle* out, const void* handle) {
  const Locked locked;
  static char function;
  if (FromHandle(handle) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = reinterpret_cast<Handle>(&function);
  return CUDA_SUCCESS;
}

CUresult Launch() {
  const Locked locked;
  Context* context = nullptr;
  return NeedContext(&context);
}

}  // namespace

CUresult Sim_cuModuleLoadData(CUmodule* module, const void* image) { return Load(module, image, false); }
CUresult Sim_cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int, CUjit_option*,
                                void**) {
  return Load(module, image, false);
}
CUresult Sim_cuModuleLoadFatBinary(CUmodule* module, const void* image) {
  return Load(module, image, false);
}
CUresult Sim_cuModuleLoad(CUmodule* module, const char* path) {
  if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  FILE* file = fopen(path, "rbe");
  if (file == nullptr) return CUDA_ERROR_FILE_NOT_FOUND;
  fclose(file);
  return Load(module, path, false);
}
CUresult Sim_cuModuleUnload(CUmodule module) { return Unload(module); }
CUresult Sim_cuModuleGetFunction(CUfunction* function, CUmodule module, const char*) {
  return Function(function, module);
}
CUresult Sim_cuModuleGetGlobal_v2(CUdeviceptr* address, size_t* bytes, CUmodule module,
                                  const char* name) {
  return Global(address, bytes, module, name);
}

// The counts of options may be positive while the arrays are NULL.
CUresult Sim_cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option*, void**, unsigned int,
                               CUlibraryOption*, void**, unsigned int) {
  return Load(library, code, true);
}
CUresult Sim_cuLibraryUnload(CUlibrary library) { return Unload(library); }
CUresult Sim_cuLibraryGetModule(CUmodule* module, CUlibrary library) {
  const Locked locked;
  if (FromHandle(library) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *module = reinterpret_cast<CUmodule>(library);
  return CUDA_SUCCESS;
}
CUresult Sim_cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char*) {
  return Function(kernel, library);
}
CUresult Sim_cuLibraryGetGlobal(CUdeviceptr* address, size_t* bytes, CUlibrary library,
                                const char* name) {
  return Global(address, bytes, library, name);
}
CUresult Sim_cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *function = reinterpret_cast<CUfunction>(kernel);
  return CUDA_SUCCESS;
}

CUresult Sim_cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *value = attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024 : 0;
  return CUDA_SUCCESS;
}

CUresult Sim_cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction, int, size_t) {
  if (blocks == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *blocks = 2;
  return CUDA_SUCCESS;
}

CUresult Sim_cuLaunchKernel(CUfunction, unsigned int, unsigned int, unsigned int, unsigned int,
                            unsigned int, unsigned int, unsigned int, CUstream, void**, void**) {
  return Launch();
}
CUresult Sim_cuLaunchKernelEx(const CUlaunchConfig*, CUfunction, void**, void**) { return Launch(); }

}  // namespace gputrace::sim

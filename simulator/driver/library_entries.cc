// SPDX-License-Identifier: Apache-2.0
// cuLibrary… and cuKernel…: code that is loaded without a context.
#include "bodies.h"
#include "simulator/driver/context.h"
#include "simulator/driver/function_attributes.h"
#include "simulator/driver/module.h"

namespace gputrace::sim {
namespace {

CUresult AddLibrary(CUlibrary* handle, const Image& image) {
  const Guard guard;
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto library = std::make_shared<Library>();
  library->image = image;
  *handle = TheDriver().libraries.Add(library);
  TheDriver().ledger.Add({.kind = "library", .size = image.size, .handle = HandleNumber(*handle)});
  return CUDA_SUCCESS;
}

CUresult FindKernel(CUkernel handle, Kernel** kernel) {
  for (const auto& library : TheDriver().libraries.All()) {
    for (const auto& [name, own] : library->kernels) {
      if (reinterpret_cast<CUkernel>(own.get()) != handle) continue;
      *kernel = own.get();
      return CUDA_SUCCESS;
    }
  }
  return CUDA_ERROR_INVALID_HANDLE;
}

Kernel* MakeKernel(Library* library, const std::string& name) {
  if (library->image.names_known && !library->image.functions.contains(name)) return nullptr;
  std::unique_ptr<Kernel>& kernel = library->kernels[name];
  if (kernel == nullptr) kernel = std::make_unique<Kernel>(Kernel{name, library, {}});
  return kernel.get();
}

CUresult GlobalOf(CUdeviceptr* dptr, size_t* bytes, CUlibrary handle, const char* name) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(CurrentContext(&context));
  const auto library = TheDriver().libraries.Find(handle);
  if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (name == nullptr || (dptr == nullptr && bytes == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  CUmodule module = nullptr;
  GPUSIM_TRY(ModuleIn(library.get(), context, &module));
  uint64_t address = 0;
  uint64_t size = 0;
  GPUSIM_TRY(FindGlobal(TheDriver().modules.Find(module).get(), name, &address, &size));
  if (dptr != nullptr) *dptr = address;
  if (bytes != nullptr) *bytes = size;
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

// Options' values may be missing although their number is not 0: the runtime library calls it so.
CUresult gpusim_cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option*, void**,
                                  unsigned, CUlibraryOption*, void**, unsigned) {
  Image image;
  GPUSIM_TRY(ReadImage(code, &image));
  return AddLibrary(library, image);
}

CUresult gpusim_cuLibraryLoadFromFile(CUlibrary* library, const char* fileName, CUjit_option*,
                                      void**, unsigned, CUlibraryOption*, void**, unsigned) {
  Image image;
  GPUSIM_TRY(ReadImageFile(fileName, &image));
  return AddLibrary(library, image);
}

CUresult gpusim_cuLibraryUnload(CUlibrary handle) {
  const Guard guard;
  const auto library = TheDriver().libraries.Find(handle);
  if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const auto modules = library->modules;
  for (const auto& [context, module] : modules) UnloadModule(TheDriver().modules.Find(module));
  TheDriver().ledger.Remove("library", HandleNumber(handle));
  TheDriver().libraries.Remove(handle);
  return CUDA_SUCCESS;
}

CUresult gpusim_cuLibraryGetKernel(CUkernel* pKernel, CUlibrary handle, const char* name) {
  const Guard guard;
  const auto library = TheDriver().libraries.Find(handle);
  if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (pKernel == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Kernel* kernel = MakeKernel(library.get(), name);
  if (kernel == nullptr) return CUDA_ERROR_NOT_FOUND;
  *pKernel = reinterpret_cast<CUkernel>(kernel);
  return CUDA_SUCCESS;
}

CUresult gpusim_cuLibraryGetKernelCount(unsigned* count, CUlibrary lib) {
  const Guard guard;
  const auto library = TheDriver().libraries.Find(lib);
  if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *count = static_cast<unsigned>(library->image.functions.size());
  return CUDA_SUCCESS;
}

CUresult gpusim_cuLibraryEnumerateKernels(CUkernel* kernels, unsigned numKernels, CUlibrary lib) {
  const Guard guard;
  const auto library = TheDriver().libraries.Find(lib);
  if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (kernels == nullptr) return CUDA_ERROR_INVALID_VALUE;
  unsigned i = 0;
  for (const std::string& name : library->image.functions) {
    if (i == numKernels) break;
    kernels[i++] = reinterpret_cast<CUkernel>(MakeKernel(library.get(), name));
  }
  return CUDA_SUCCESS;
}

CUresult gpusim_cuLibraryGetModule(CUmodule* pMod, CUlibrary handle) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(CurrentContext(&context));
  const auto library = TheDriver().libraries.Find(handle);
  if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return pMod == nullptr ? CUDA_ERROR_INVALID_VALUE : ModuleIn(library.get(), context, pMod);
}

CUresult gpusim_cuLibraryGetGlobal(CUdeviceptr* dptr, size_t* bytes, CUlibrary library,
                                   const char* name) {
  return GlobalOf(dptr, bytes, library, name);
}
CUresult gpusim_cuLibraryGetManaged(CUdeviceptr* dptr, size_t* bytes, CUlibrary library,
                                    const char* name) {
  return GlobalOf(dptr, bytes, library, name);
}

CUresult gpusim_cuKernelGetFunction(CUfunction* pFunc, CUkernel handle) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(CurrentContext(&context));
  if (pFunc == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Function* function = nullptr;
  GPUSIM_TRY(FunctionOf(reinterpret_cast<CUfunction>(handle), &function));
  *pFunc = reinterpret_cast<CUfunction>(function);
  return CUDA_SUCCESS;
}

CUresult gpusim_cuKernelGetLibrary(CUlibrary* pLib, CUkernel handle) {
  const Guard guard;
  Kernel* kernel = nullptr;
  GPUSIM_TRY(FindKernel(handle, &kernel));
  if (pLib == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pLib = TheDriver().libraries.HandleOf(kernel->library);
  return CUDA_SUCCESS;
}

CUresult gpusim_cuKernelGetName(const char** name, CUkernel handle) {
  const Guard guard;
  Kernel* kernel = nullptr;
  GPUSIM_TRY(FindKernel(handle, &kernel));
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *name = kernel->name.c_str();
  return CUDA_SUCCESS;
}

CUresult gpusim_cuKernelGetAttribute(int* pi, CUfunction_attribute attrib, CUkernel handle,
                                     CUdevice) {
  const Guard guard;
  Kernel* kernel = nullptr;
  GPUSIM_TRY(FindKernel(handle, &kernel));
  return FunctionAttribute(kernel->attributes, attrib, pi);
}

CUresult gpusim_cuKernelSetAttribute(CUfunction_attribute attrib, int val, CUkernel handle,
                                     CUdevice) {
  const Guard guard;
  Kernel* kernel = nullptr;
  GPUSIM_TRY(FindKernel(handle, &kernel));
  return SetFunctionAttribute(&kernel->attributes, attrib, val);
}

CUresult gpusim_cuKernelSetCacheConfig(CUkernel handle, CUfunc_cache, CUdevice) {
  const Guard guard;
  Kernel* kernel = nullptr;
  return FindKernel(handle, &kernel);
}

}  // extern "C"

}  // namespace gputrace::sim

// SPDX-License-Identifier: Apache-2.0
#include "simulator/driver/module.h"

#include "simulator/driver/context.h"
#include "simulator/driver/physical_memory.h"

namespace gputrace::sim {
namespace {

// A variable of a container, whose size cannot be read here, and room for such ones. Assumed.
constexpr uint64_t kUnknownGlobalSize = 4096;
constexpr uint64_t kUnknownGlobalsRoom = 64 * 1024;

uint64_t GlobalsSize(const Image& image) {
  if (!image.names_known) return kUnknownGlobalsRoom;
  uint64_t size = 0;
  for (const auto& [name, bytes] : image.globals) size += RoundUp(bytes, kBlockAlignment);
  return size;
}

void AddGlobal(Module* module, const std::string& name, uint64_t size) {
  const uint64_t address = module->next_global;
  module->next_global += RoundUp(size, kBlockAlignment);
  module->globals[name] = address;
  TheDriver().allocations.Add({.kind = MemoryKind::kGlobal,
                               .address = address,
                               .size = size,
                               .device = module->context->device,
                               .context = module->context});
}

}  // namespace

CUresult LoadModule(Context* context, const Image& image, Library* library, CUmodule* handle) {
  const auto module = std::make_shared<Module>();
  module->context = context;
  module->image = image;
  module->library = library;
  const uint64_t code = RoundUp(image.size, kBlockAlignment);
  module->memory_size = code + GlobalsSize(image);
  module->memory = context->device_heap->Allocate(module->memory_size);
  if (module->memory == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  module->next_global = module->memory + code;
  for (const auto& [name, size] : image.globals) {
    if (size != 0) AddGlobal(module.get(), name, size);
  }
  *handle = TheDriver().modules.Add(module);
  TheDriver().ledger.Add({.kind = "module",
                          .size = image.size,
                          .device = context->device,
                          .context = reinterpret_cast<uint64_t>(context),
                          .handle = HandleNumber(*handle)});
  return CUDA_SUCCESS;
}

void UnloadModule(const std::shared_ptr<Module>& module) {
  Driver& driver = TheDriver();
  for (const auto& [name, address] : module->globals) {
    if (Allocation* global = driver.allocations.At(address)) driver.allocations.Remove(*global);
  }
  module->context->device_heap->FreeAndRelease(module->memory, module->memory_size);
  const CUmodule handle = driver.modules.HandleOf(module.get());
  if (module->library != nullptr) module->library->modules.erase(module->context);
  driver.ledger.Remove("module", HandleNumber(handle));
  driver.modules.Remove(handle);
}

void UnloadModulesOf(const Context* context) {
  for (const auto& module : TheDriver().modules.All()) {
    if (module->context == context) UnloadModule(module);
  }
}

Function* FindFunction(Module* module, const std::string& name) {
  if (module->image.names_known && !module->image.functions.contains(name)) return nullptr;
  std::unique_ptr<Function>& function = module->functions[name];
  if (function == nullptr) {
    function = std::make_unique<Function>();
    function->name = name;
    function->module = module;
  }
  return function.get();
}

CUresult FindGlobal(Module* module, const std::string& name, uint64_t* address, uint64_t* size) {
  if (!module->globals.contains(name)) {
    const uint64_t end = module->memory + module->memory_size;
    if (module->image.names_known || module->next_global + kUnknownGlobalSize > end) {
      return CUDA_ERROR_NOT_FOUND;
    }
    AddGlobal(module, name, kUnknownGlobalSize);
  }
  *address = module->globals[name];
  *size = TheDriver().allocations.At(*address)->size;
  return CUDA_SUCCESS;
}

CUresult ModuleIn(Library* library, Context* context, CUmodule* handle) {
  const auto found = library->modules.find(context);
  if (found != library->modules.end()) {
    *handle = found->second;
    return CUDA_SUCCESS;
  }
  GPUSIM_TRY(LoadModule(context, library->image, library, handle));
  library->modules[context] = *handle;
  return CUDA_SUCCESS;
}

CUresult FunctionOf(CUfunction handle, Function** function) {
  for (const auto& module : TheDriver().modules.All()) {
    for (const auto& [name, own] : module->functions) {
      if (reinterpret_cast<CUfunction>(own.get()) != handle) continue;
      *function = own.get();
      return CUDA_SUCCESS;
    }
  }
  for (const auto& library : TheDriver().libraries.All()) {
    for (const auto& [name, kernel] : library->kernels) {
      if (reinterpret_cast<CUfunction>(kernel.get()) != handle) continue;
      Context* context = nullptr;
      GPUSIM_TRY(CurrentContext(&context));
      CUmodule module = nullptr;
      GPUSIM_TRY(ModuleIn(library.get(), context, &module));
      *function = FindFunction(TheDriver().modules.Find(module).get(), name);
      return *function == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
    }
  }
  return CUDA_ERROR_INVALID_HANDLE;
}

}  // namespace gputrace::sim

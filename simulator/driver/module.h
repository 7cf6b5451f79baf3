// SPDX-License-Identifier: Apache-2.0
// Loaded code: modules of a context, libraries of the process, their functions and variables.
#ifndef GPUTRACE_SIMULATOR_DRIVER_MODULE_H_
#define GPUTRACE_SIMULATOR_DRIVER_MODULE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "simulator/driver/driver.h"
#include "simulator/driver/image.h"

namespace gputrace::sim {

struct Function;

struct Module {
  Context* context = nullptr;
  Image image;
  uint64_t memory = 0;  // of the code and the variables, as one block
  uint64_t memory_size = 0;
  Library* library = nullptr;  // that it belongs to; null: loaded by itself
  std::map<std::string, std::unique_ptr<Function>> functions;
  std::map<std::string, uint64_t> globals;  // addresses
  uint64_t next_global = 0;                 // where the next variable of a container goes
};

struct Function {
  std::string name;
  Module* module = nullptr;
  std::map<int, int> attributes;  // that the program has set
};

// Kernels are found in a library without a context; functions are theirs in one.
struct Kernel {
  std::string name;
  Library* library = nullptr;
  std::map<int, int> attributes;
};

struct Library {
  Image image;
  std::map<std::string, std::unique_ptr<Kernel>> kernels;
  std::map<const Context*, CUmodule> modules;  // loaded into contexts when they are needed there
};

// Loads an image into a context and tells the ledger.
CUresult LoadModule(Context* context, const Image& image, Library* library, CUmodule* handle);
void UnloadModule(const std::shared_ptr<Module>& module);

// Those that end with the context.
void UnloadModulesOf(const Context* context);

// Null if there is no such name.
Function* FindFunction(Module* module, const std::string& name);

// The variable's address and size. CUDA_ERROR_NOT_FOUND if there is none.
CUresult FindGlobal(Module* module, const std::string& name, uint64_t* address, uint64_t* size);

// The module of a library in a context, loaded if need be.
CUresult ModuleIn(Library* library, Context* context, CUmodule* handle);

// The function that a handle names: kernels are taken for functions (header of cuLaunchKernel).
CUresult FunctionOf(CUfunction handle, Function** function);

}  // namespace gputrace::sim

#endif  // GPUTRACE_SIMULATOR_DRIVER_MODULE_H_

// SPDX-License-Identifier: Apache-2.0
// Finds the driver's functions at run time, as the argument says. 10 allocations, 10 frees, and
// prints what else it was asked to look at.
#include <cuda.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

template <typename Function>
struct Typed {
  Function* function;
  explicit Typed(void* pointer) : function(reinterpret_cast<Function*>(pointer)) {}
};

void Check(int result, const char* what) {
  if (result == 0) return;
  fprintf(stderr, "%s: %d\n", what, result);
  exit(3);
}

using GetProcAddress1 = CUresult(const char*, void**, int, cuuint64_t);
using GetProcAddress2 = CUresult(const char*, void**, int, cuuint64_t,
                                 CUdriverProcAddressQueryResult*);

// How a name is turned into a function in this run.
std::string g_way;
void* g_driver;
void* g_resolver;

void* Find(const char* symbol, const char* base, int version, cuuint64_t flags) {
  void* found = nullptr;
  if (g_way == "get_proc_address_v1") {
    Check(Typed<GetProcAddress1>(g_resolver).function(base, &found, version, flags), base);
  } else if (g_way == "get_proc_address_v2" || g_way == "through_itself" || g_way == "per_thread") {
    Check(Typed<GetProcAddress2>(g_resolver).function(base, &found, version, flags, nullptr), base);
  } else if (g_way == "rtld_default") {
    found = dlsym(RTLD_DEFAULT, symbol);
  } else if (g_way == "rtld_next") {
    found = dlsym(RTLD_NEXT, symbol);
  } else if (g_way == "dlvsym") {
    found = dlvsym(g_driver, symbol, "CUDA_1.0");
  } else {
    found = dlsym(g_driver, symbol);
  }
  if (found == nullptr) {
    fprintf(stderr, "%s: not found\n", symbol);
    exit(3);
  }
  return found;
}

void Open(const char* path) {
  const int mode = g_way == "rtld_default" || g_way == "rtld_next" ? RTLD_NOW | RTLD_GLOBAL
                   : g_way == "deepbind"                           ? RTLD_NOW | RTLD_DEEPBIND
                                                                   : RTLD_NOW;
  g_driver = g_way == "dlmopen" ? dlmopen(LM_ID_NEWLM, path, RTLD_NOW) : dlopen(path, mode);
  if (g_driver == nullptr) {
    fprintf(stderr, "%s\n", dlerror());
    exit(3);
  }
  g_resolver =
      dlsym(g_driver, g_way == "get_proc_address_v1" ? "cuGetProcAddress" : "cuGetProcAddress_v2");
  if (g_way == "through_itself") {
    void* next = nullptr;
    // The probe that CUDA's runtime makes first, then the resolver by itself, as it does.
    Typed<GetProcAddress2>(g_resolver).function("", &next, 0, 0, nullptr);
    Check(Typed<GetProcAddress2>(g_resolver).function("cuGetProcAddress", &next, 12000, 0, nullptr),
          "itself");
    g_resolver = next;
  }
}

void RunLinear() {
  CUcontext context = nullptr;
  Check(Typed<CUresult(unsigned)>(Find("cuInit", "cuInit", 2000, 0)).function(0), "cuInit");
  Check(Typed<CUresult(CUcontext*, CUdevice)>(
            Find("cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRetain", 7000, 0))
            .function(&context, 0),
        "retain");
  Check(Typed<CUresult(CUcontext)>(Find("cuCtxSetCurrent", "cuCtxSetCurrent", 4000, 0))
            .function(context),
        "set current");
  const Typed<CUresult(CUdeviceptr*, size_t)> allocate(
      Find("cuMemAlloc_v2", "cuMemAlloc", 3020, 0));
  const Typed<CUresult(CUdeviceptr)> free(Find("cuMemFree_v2", "cuMemFree", 3020, 0));
  for (int i = 0; i < 10; ++i) {
    CUdeviceptr address = 0;
    Check(allocate.function(&address, 4096), "allocate");
    Check(free.function(address), "free");
  }
}

void RunPerThread() {
  const Typed<CUresult(CUdeviceptr*, size_t, CUstream)> allocate(
      Find("cuMemAllocAsync_ptsz", "cuMemAllocAsync", 11020, 2));
  const Typed<CUresult(CUdeviceptr, CUstream)> free(
      Find("cuMemFreeAsync_ptsz", "cuMemFreeAsync", 11020, 2));
  CUdeviceptr address = 0;
  Check(allocate.function(&address, 4096, nullptr), "allocate");
  Check(free.function(address, nullptr), "free");
}

// What a version asks for must be what it gets: the first ABI of cuMemAlloc takes 32-bit sizes.
void PrintOldVersion() {
  void* found = nullptr;
  Check(Typed<GetProcAddress2>(g_resolver).function("cuMemAlloc", &found, 2000, 0, nullptr), "v1");
  printf("%d\n", found == dlsym(g_driver, "cuMemAlloc"));
  found = nullptr;
  printf("%d\n",
         Typed<GetProcAddress2>(g_resolver).function("cuNoSuchThing", &found, 12000, 0, nullptr));
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
  printf("%d",
         Typed<GetProcAddress2>(g_resolver).function("cuMemAllocAsync", &found, 3000, 0, &status));
  printf(" %d\n", status);
}

// A library of the program's own, linked to the driver and loaded for itself alone.
void RunPlugin(const char* path) {
  void* plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void* run = plugin == nullptr ? nullptr : dlsym(plugin, "RunLinear");
  if (run == nullptr) {
    fprintf(stderr, "%s\n", dlerror());
    exit(3);
  }
  Typed<void()>(run).function();
}

// Functions that change memory and that no tool can know, got at in both ways.
void FindUncovered() {
  void* found = nullptr;
  if (dlsym(g_driver, "cuMemFancyAlloc") == nullptr) exit(3);
  if (dlsym(g_driver, "cuMemAlloc") == nullptr) exit(3);
  Check(Typed<GetProcAddress2>(g_resolver).function("cuMemAlloc", &found, 2000, 0, nullptr), "v1");
}

}  // namespace

int main(int count, char** arguments) {
  g_way = count > 1 ? arguments[1] : "dlsym";
  if (g_way == "plugin") {
    RunPlugin(arguments[2]);
    return 0;
  }
  Open(count > 2 ? arguments[2] : "libcuda.so.1");
  if (g_way == "missing") {
    const void* found = dlsym(g_driver, "cuNoSuchThing");
    printf("%d %d\n", found == nullptr, dlerror() != nullptr);
    return 0;
  }
  RunLinear();
  if (g_way == "uncovered") FindUncovered();
  if (g_way == "per_thread") RunPerThread();
  if (g_way == "get_proc_address_v2") PrintOldVersion();
  return 0;
}

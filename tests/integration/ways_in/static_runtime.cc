// SPDX-License-Identifier: Apache-2.0
// Reaches the driver as CUDA's runtime does from within each library that it is linked into
// statically: one dlsym, a probe, the resolver through itself, then hundreds of names, each with
// the version whose ABI it was built for and both kinds of default stream; the names one by one by
// dlsym where the driver has no resolver. Then 10 allocations and 10 frees.
//
// usage: static_runtime TABLE [per_thread]     TABLE is driver_api/entries.tsv
#include <cuda.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

using GetProcAddress = CUresult (*)(const char*, void**, int, cuuint64_t,
                                    CUdriverProcAddressQueryResult*);

// The runtime of this version of CUDA asks for nothing newer.
constexpr int kBuiltFor = 13000;
constexpr cuuint64_t kPerThread = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;

struct Wanted {
  std::string symbol;  // as the driver exports it
  std::string base;
  int version;
  bool per_thread;
};

// Functions whose older ABI the runtime goes on using.
int VersionFor(const std::string& base, int newest) {
  static const std::map<std::string, int> kOld = {{"cuDevicePrimaryCtxRelease", 7000},
                                                  {"cuDevicePrimaryCtxReset", 7000},
                                                  {"cuCtxCreate", 3020}};
  const auto found = kOld.find(base);
  return found == kOld.end() ? newest : found->second;
}

std::vector<Wanted> ReadTable(const char* path) {
  std::vector<Wanted> all;
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    std::string suffix, kind, since;
    Wanted wanted;
    fields >> wanted.symbol >> wanted.base >> suffix >> kind >> since;
    wanted.version = atoi(since.c_str());
    wanted.per_thread = kind != "-";
    if (wanted.version > 0 && wanted.version <= kBuiltFor) all.push_back(wanted);
  }
  // Of each function one ABI.
  std::map<std::string, int> newest;
  for (const Wanted& wanted : all) {
    int& version = newest[wanted.base];
    if (!wanted.per_thread && wanted.version > version) version = wanted.version;
  }
  std::vector<Wanted> chosen;
  for (const Wanted& wanted : all) {
    const int version = VersionFor(wanted.base, newest[wanted.base]);
    if (wanted.per_thread || wanted.version == version) chosen.push_back(wanted);
  }
  return chosen;
}

[[noreturn]] void Die(const char* what) {
  fprintf(stderr, "%s\n", what);
  exit(3);
}

class Runtime {
 public:
  explicit Runtime(const std::vector<Wanted>& table) {
    driver_ = dlopen("libcuda.so.1", RTLD_NOW);
    if (driver_ == nullptr) Die(dlerror());
    auto resolver = reinterpret_cast<GetProcAddress>(dlsym(driver_, "cuGetProcAddress_v2"));
    void* probe = nullptr;
    if (resolver == nullptr || resolver("", &probe, 0, 0, nullptr) == CUDA_ERROR_STUB_LIBRARY) {
      for (const Wanted& wanted : table) {
        functions_[{wanted.base, wanted.per_thread}] = dlsym(driver_, wanted.symbol.c_str());
      }
      return;
    }
    void* itself = nullptr;
    for (int version : {11030, 12000}) resolver("cuGetProcAddress", &itself, version, 0, nullptr);
    resolver = reinterpret_cast<GetProcAddress>(itself);
    for (const Wanted& wanted : table) {
      void* found = nullptr;
      // What is missing is tolerated.
      resolver(wanted.base.c_str(), &found, wanted.version, wanted.per_thread ? kPerThread : 0,
               nullptr);
      functions_[{wanted.base, wanted.per_thread}] = found;
    }
  }

  template <typename Function>
  Function* Find(const char* base, bool per_thread = false) const {
    auto found = functions_.find({base, per_thread});
    if (found == functions_.end() || found->second == nullptr) Die(base);
    return reinterpret_cast<Function*>(found->second);
  }

 private:
  void* driver_;
  std::map<std::pair<std::string, bool>, void*> functions_;
};

void Check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  fprintf(stderr, "%s: %d\n", what, result);
  exit(3);
}

// What cudaMalloc, cudaFree and their stream-ordered relatives, and the end of the process, do.
void Use(const Runtime& runtime, bool per_thread) {
  CUcontext context = nullptr;
  Check(runtime.Find<CUresult(unsigned)>("cuInit")(0), "cuInit");
  Check(runtime.Find<CUresult(CUcontext*, CUdevice)>("cuDevicePrimaryCtxRetain")(&context, 0),
        "retain");
  Check(runtime.Find<CUresult(CUcontext)>("cuCtxSetCurrent")(context), "set current");
  for (int i = 0; i < 10; ++i) {
    CUdeviceptr address = 0;
    Check(runtime.Find<CUresult(CUdeviceptr*, size_t)>("cuMemAlloc")(&address, 4096), "allocate");
    Check(runtime.Find<CUresult(CUdeviceptr)>("cuMemFree")(address), "free");
  }
  CUdeviceptr address = 0;
  Check(runtime.Find<CUresult(CUdeviceptr*, size_t, CUstream)>("cuMemAllocAsync", per_thread)(
            &address, 4096, nullptr),
        "allocate in order");
  Check(
      runtime.Find<CUresult(CUdeviceptr, CUstream)>("cuMemFreeAsync", per_thread)(address, nullptr),
      "free in order");
  Check(runtime.Find<CUresult(CUdevice)>("cuDevicePrimaryCtxReset")(0), "reset");
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) Die("usage: static_runtime TABLE [per_thread]");
  const std::vector<Wanted> table = ReadTable(arguments[1]);
  if (table.size() < 400) Die("the table is too short");
  // Two libraries, each with a runtime of its own inside.
  const Runtime first(table);
  const Runtime second(table);
  Use(second, count > 2 && std::string(arguments[2]) == "per_thread");
}

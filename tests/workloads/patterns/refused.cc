// SPDX-License-Identifier: Apache-2.0
// Frees that the driver refuses, and frees of what nobody saw being allocated.
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>

#include "tests/workloads/patterns/patterns.h"

namespace {

[[gnu::noinline]] void* AllocatePinned(size_t size) {
  void* memory = nullptr;
  CHECK(cuMemHostAlloc(&memory, size, 0));
  KeepFrame();
  return memory;
}

[[gnu::noinline]] CUdeviceptr AllocateDevice(size_t size) {
  CUdeviceptr address = 0;
  CHECK(cuMemAlloc(&address, size));
  KeepFrame();
  return address;
}

// Nobody looks at the result. Nothing may be called in a host function.
[[gnu::noinline]] void FreeInCallback(void* memory) {
  cuMemFreeHost(memory);
  KeepFrame();
}

void Callback(bool healthy) {
  UsePrimary();
  for (int i = 0; i < 20; ++i) {
    void* memory = AllocatePinned(4000);
    if (!healthy) CHECK(cuLaunchHostFunc(nullptr, FreeInCallback, memory));
    CHECK(cuStreamSynchronize(nullptr));
    if (healthy) CHECK(cuMemFreeHost(memory));
  }
}

[[gnu::noinline]] void Finalise(CUdeviceptr address) {
  cuMemFree(address);
  KeepFrame();
}

void NoContext(bool healthy) {
  CUcontext context = UsePrimary();
  CUdeviceptr memory[3];
  for (CUdeviceptr& address : memory) address = AllocateDevice(kMiB);
  if (!healthy) CHECK(cuCtxPopCurrent(&context));
  for (CUdeviceptr address : memory) Finalise(address);
}

// Refused at first, freed later: nothing is left.
void SecondTry(bool) {
  CUcontext context = UsePrimary();
  const CUdeviceptr address = AllocateDevice(kMiB);
  CHECK(cuCtxPopCurrent(&context));
  EXPECT_RESULT(cuMemFree(address), CUDA_ERROR_INVALID_CONTEXT);
  CHECK(cuCtxPushCurrent(context));
  CHECK(cuMemFree(address));
}

// GPUSIM_FAIL answers as a driver does that has shut down.
void AfterTeardown(bool) {
  UsePrimary();
  EXPECT_RESULT(cuMemFree(AllocateDevice(kMiB)), CUDA_ERROR_DEINITIALIZED);
}

// The driver's function past all that looks symbols up.
void* PastTheTracer(const char* name) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  link_map* map = nullptr;
  if (driver == nullptr || dlinfo(driver, RTLD_DI_LINKMAP, &map) != 0) return nullptr;
  const ElfW(Sym)* symbols = nullptr;
  const char* strings = nullptr;
  for (const ElfW(Dyn)* entry = map->l_ld; entry->d_tag != DT_NULL; ++entry) {
    const auto address = entry->d_un.d_ptr;
    if (entry->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym)*>(address);
    if (entry->d_tag == DT_STRTAB) strings = reinterpret_cast<const char*>(address);
  }
  // The names follow the symbols in every file that linkers make.
  for (; static_cast<const void*>(symbols) < static_cast<const void*>(strings); ++symbols) {
    if (strcmp(strings + symbols->st_name, name) == 0) {
      return reinterpret_cast<void*>(map->l_addr + symbols->st_value);
    }
  }
  return nullptr;
}

[[gnu::noinline]] void FreeUnseen(CUdeviceptr address) {
  CHECK(cuMemFreeAsync(address, nullptr));
  KeepFrame();
}

void Unseen(bool healthy) {
  UsePrimary();
  CUmemoryPool pool = nullptr;
  CHECK(cuDeviceGetDefaultMemPool(&pool, 0));
  using Allocate = CUresult(CUdeviceptr*, size_t, CUmemoryPool, CUstream);
  auto* hidden = reinterpret_cast<Allocate*>(PastTheTracer("cuMemAllocFromPoolAsync"));
  if (hidden == nullptr) exit(4);
  CUdeviceptr address = 0;
  CHECK((healthy ? cuMemAllocFromPoolAsync : hidden)(&address, kMiB, pool, nullptr));
  FreeUnseen(address);
  CHECK(cuStreamSynchronize(nullptr));
}

// Freed behind the tracer's back; the address comes again.
void UnseenFree(bool healthy) {
  UsePrimary();
  auto* hidden = reinterpret_cast<CUresult (*)(CUdeviceptr)>(PastTheTracer("cuMemFree_v2"));
  if (hidden == nullptr) exit(4);
  for (int i = 0; i < 5; ++i) CHECK((healthy ? cuMemFree : hidden)(AllocateDevice(3 * kMiB)));
}

[[gnu::noinline]] void RegisterRange(void* memory, size_t size) {
  CHECK(cuMemHostRegister(memory, size, 0));
  KeepFrame();
}

// The mapping goes and its registration stays; the kernel gives the same addresses again.
void Registration(bool healthy) {
  UsePrimary();
  constexpr size_t kSize = 64 * 1024;
  void* memory = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  RegisterRange(memory, kSize);
  if (healthy) CHECK(cuMemHostUnregister(memory));
  munmap(memory, kSize);
  void* again = mmap(memory, kSize, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (again != memory) exit(4);
  if (healthy) {
    RegisterRange(again, kSize);
    CHECK(cuMemHostUnregister(again));
  } else {
    EXPECT_RESULT(cuMemHostRegister(again, kSize, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  }
}

constexpr Scene kScenes[] = {{"callback", Callback},
                             {"no_context", NoContext},
                             {"second_try", SecondTry},
                             {"after_teardown", AfterTeardown},
                             {"unseen", Unseen},
                             {"unseen_free", UnseenFree},
                             {"registration", Registration}};

}  // namespace

int main(int count, char** arguments) { return PlayScene(kScenes, count, arguments); }

// SPDX-License-Identifier: Apache-2.0
// Device, managed and host memory that belongs to a context.
#include "tests/truth/player.h"

namespace gputrace::truth {
namespace {

void AllocatePitch(Turn& t) {
  CUdeviceptr address = 0;
  size_t pitch = 0;
  const CUresult result =
      cuMemAllocPitch_v2(&address, &pitch, t.number(1) % 70000, t.number(2), t.number(3) * 4);
  t.FillInContext(0, result, address);
}

void Registered(Turn& t, bool second) {
  void* page = t.player.HostPage(t.number(1));
  const size_t size = t.number(2) * 512;
  const CUresult result =
      second ? cuMemHostRegister_v2(page, size, 0) : cuMemHostRegister(page, size, 0);
  t.FillInContext(0, result, page, size);
}

}  // namespace

void AddLinearOperations(std::vector<Operation>* operations) {
  const auto add = [operations](auto... parts) { operations->emplace_back(parts...); };
  using Arguments = std::vector<Argument>;
  add("MemAlloc", 30, When::kAnytime, Arguments{New(Type::kLinear), Size()}, [](Turn& t) {
    CUdeviceptr address = 0;
    t.FillInContext(0, cuMemAlloc_v2(&address, t.number(1)), address);
  });
  add("MemAllocTooMuch", 1, When::kAnytime, Arguments{New(Type::kLinear)}, [](Turn& t) {
    CUdeviceptr address = 0;
    t.FillInContext(0, cuMemAlloc_v2(&address, uint64_t{1} << 50), address);
  });
  add("MemAllocNothing", 1, When::kAnytime, Arguments{Below(3)}, [](Turn& t) {
    CUdeviceptr address = 0;
    if (t.number(0) == 0) cuMemAlloc_v2(nullptr, 64);
    if (t.number(0) == 1) cuMemAlloc_v2(&address, 0);
    if (t.number(0) == 2) cuMemFree_v2(0);
  });
  add("MemAllocPitch", 8, When::kAnytime,
      Arguments{New(Type::kLinear), Size(), Below(64), Below(5)}, AllocatePitch);
  add("MemAllocManaged", 8, When::kAnytime, Arguments{New(Type::kLinear), Size(), Below(4)},
      [](Turn& t) {
        CUdeviceptr address = 0;
        const auto flags = static_cast<unsigned>(t.number(2));
        t.FillInContext(0, cuMemAllocManaged(&address, t.number(1), flags), address);
      });
  add("MemFree", 36, When::kAnytime, Arguments{Take(Type::kLinear)}, [](Turn& t) {
    cuMemFree_v2(t.value(0));
    t.Empty(0);
  });
  add("MemFreeInside", 1, When::kAnytime, Arguments{Use(Type::kLinear)},
      [](Turn& t) { cuMemFree_v2(t.value(0) + 1); });
  add("MemFreeAgain", 4, When::kSerial, Arguments{Below(8)}, [](Turn& t) {
    const uint64_t address = t.player.Stale(Type::kLinear, t.number(0));
    if (cuMemFree_v2(address) == CUDA_SUCCESS) t.player.ForgetValue(address);
  });
  add("MemFreeAsyncOfLinear", 4, When::kAnytime, Arguments{Take(Type::kLinear), Use(Type::kStream)},
      [](Turn& t) {
        cuMemFreeAsync(t.value(0), t.as<CUstream>(1));
        t.Empty(0);
      });
  add("MemGetInfo", 2, When::kAnytime, Arguments{Below(3)}, [](Turn& t) {
    size_t free = 0;
    size_t total = 0;
    cuMemGetInfo_v2(t.number(0) == 1 ? nullptr : &free, t.number(0) == 2 ? nullptr : &total);
  });
}

void AddHostOperations(std::vector<Operation>* operations) {
  const auto add = [operations](auto... parts) { operations->emplace_back(parts...); };
  using Arguments = std::vector<Argument>;
  add("MemHostAlloc", 6, When::kAnytime, Arguments{New(Type::kHost), Size(), Below(9)},
      [](Turn& t) {
        void* address = nullptr;
        const auto flags = static_cast<unsigned>(t.number(2));
        t.FillInContext(0, cuMemHostAlloc(&address, t.number(1), flags), address);
      });
  add("MemAllocHost", 4, When::kAnytime, Arguments{New(Type::kHost), Size()}, [](Turn& t) {
    void* address = nullptr;
    t.FillInContext(0, cuMemAllocHost_v2(&address, t.number(1)), address);
  });
  add("MemFreeHost", 9, When::kAnytime, Arguments{Take(Type::kHost)}, [](Turn& t) {
    cuMemFreeHost(t.as<void*>(0));
    t.Empty(0);
  });
  add("MemFreeHostAgain", 1, When::kSerial, Arguments{Below(8)}, [](Turn& t) {
    const uint64_t address = t.player.Stale(Type::kHost, t.number(0));
    if (cuMemFreeHost(reinterpret_cast<void*>(address)) == CUDA_SUCCESS) {
      t.player.ForgetValue(address);
    }
  });
  add("MemFreeOfHost", 1, When::kAnytime, Arguments{Use(Type::kHost)},
      [](Turn& t) { cuMemFree_v2(t.value(0)); });
  add("MemFreeHostOfLinear", 1, When::kAnytime, Arguments{Use(Type::kLinear)},
      [](Turn& t) { cuMemFreeHost(t.as<void*>(0)); });
  // Registering what another thread has registered fails: no race, its slot stays empty.
  add("MemHostRegister", 4, When::kAnytime, Arguments{New(Type::kRegistered), Below(64), Below(12)},
      [](Turn& t) { Registered(t, false); });
  add("MemHostRegisterV2", 4, When::kAnytime,
      Arguments{New(Type::kRegistered), Below(64), Below(12)},
      [](Turn& t) { Registered(t, true); });
  add("MemHostUnregister", 8, When::kAnytime, Arguments{Take(Type::kRegistered)}, [](Turn& t) {
    cuMemHostUnregister(t.as<void*>(0));
    t.Empty(0);
  });
}

}  // namespace gputrace::truth

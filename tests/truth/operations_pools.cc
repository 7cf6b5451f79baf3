// SPDX-License-Identifier: Apache-2.0
// Memory pools and the stream-ordered allocator.
#include <unistd.h>

#include "tests/truth/player.h"

namespace gputrace::truth {
namespace {

void CreatePool(Turn& t) {
  CUmemPoolProps properties = {};
  constexpr CUmemLocationType kLocations[] = {
      CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_LOCATION_TYPE_DEVICE,
      CU_MEM_LOCATION_TYPE_HOST, CU_MEM_LOCATION_TYPE_INVALID};
  properties.allocType =
      t.number(3) == 1 ? CU_MEM_ALLOCATION_TYPE_MANAGED : CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = kLocations[t.number(1)];
  properties.location.id = static_cast<int>(t.number(2));
  properties.maxSize = t.number(4) << 22;
  if (properties.location.type == CU_MEM_LOCATION_TYPE_DEVICE && t.number(3) != 1) {
    properties.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  }
  CUmemoryPool pool = nullptr;
  t.Fill(0, cuMemPoolCreate(&pool, &properties), pool);
}

// While its stream is captured nothing is allocated, and the address is the graph's.
uint64_t UnlessCaptured(CUdeviceptr address, CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  cuStreamIsCapturing(stream, &status);
  return status == CU_STREAM_CAPTURE_STATUS_NONE ? address : 0;
}

void AllocateAsync(Turn& t, CUresult (*allocate)(CUdeviceptr*, size_t, CUstream)) {
  CUdeviceptr address = 0;
  const auto stream = t.as<CUstream>(2);
  const CUresult result = allocate(&address, t.number(1), stream);
  t.Fill(0, result, UnlessCaptured(address, stream));
}

void AllocateFromPool(Turn& t, CUresult (*allocate)(CUdeviceptr*, size_t, CUmemoryPool, CUstream)) {
  CUdeviceptr address = 0;
  const auto stream = t.as<CUstream>(3);
  const CUresult result = allocate(&address, t.number(1), t.as<CUmemoryPool>(2), stream);
  t.Fill(0, result, UnlessCaptured(address, stream));
}

// A pool that was exported and imported again: as in another process.
void ImportPool(Turn& t) {
  int descriptor = -1;
  if (cuMemPoolExportToShareableHandle(&descriptor, t.as<CUmemoryPool>(1),
                                       CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                       0) != CUDA_SUCCESS) {
    return;
  }
  CUmemoryPool pool = nullptr;
  const CUresult result = cuMemPoolImportFromShareableHandle(
      &pool, reinterpret_cast<void*>(static_cast<intptr_t>(descriptor)),
      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
  t.Fill(0, result, pool);
  close(descriptor);
}

void ImportPointer(Turn& t) {
  CUmemPoolPtrExportData data;
  if (cuMemPoolExportPointer(&data, t.value(2)) != CUDA_SUCCESS) return;
  CUdeviceptr address = 0;
  t.Fill(0, cuMemPoolImportPointer(&address, t.as<CUmemoryPool>(1), &data), address);
}

void SetAttribute(Turn& t) {
  cuuint64_t threshold = t.number(1) << 22;
  int on = static_cast<int>(t.number(1) % 2);
  const auto attribute = static_cast<CUmemPool_attribute>(t.number(2) + 1);
  const bool is_switch = t.number(2) < 3;
  cuMemPoolSetAttribute(t.as<CUmemoryPool>(0), attribute,
                        is_switch ? static_cast<void*>(&on) : &threshold);
}

void GetAttribute(Turn& t) {
  cuuint64_t value = 0;
  cuMemPoolGetAttribute(t.as<CUmemoryPool>(0), static_cast<CUmemPool_attribute>(t.number(1) + 1),
                        &value);
}

CUmemLocation DeviceLocation(uint64_t device) {
  CUmemLocation location = {};
  location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  location.id = static_cast<int>(device);
  return location;
}

void LearnPool(Turn& t) {
  CUmemoryPool pool = nullptr;
  const auto device = static_cast<CUdevice>(t.number(0));
  CUmemLocation location = DeviceLocation(t.number(0));
  switch (t.number(1)) {
    case 0:
      cuDeviceGetDefaultMemPool(&pool, device);
      return;
    case 1:
      cuDeviceGetMemPool(&pool, device);
      return;
    case 2:
      cuMemGetDefaultMemPool(&pool, &location, CU_MEM_ALLOCATION_TYPE_PINNED);
      return;
    default:
      cuMemGetMemPool(&pool, &location, CU_MEM_ALLOCATION_TYPE_PINNED);
  }
}

void TrimDefault(Turn& t) {
  CUmemoryPool pool = nullptr;
  cuDeviceGetDefaultMemPool(&pool, static_cast<CUdevice>(t.number(0)));
  cuMemPoolTrimTo(pool, t.number(1) << 20);
}

}  // namespace

void AddPoolOperations(std::vector<Operation>* operations) {
  const auto add = [operations](auto... parts) { operations->emplace_back(parts...); };
  using Arguments = std::vector<Argument>;
  const Arguments from_current = {New(Type::kBlock), Size(), Use(Type::kStream)};
  const Arguments from_pool = {New(Type::kBlock), Size(), Use(Type::kPool), Use(Type::kStream)};
  const Arguments of_block = {Take(Type::kBlock), Use(Type::kStream)};
  add("MemAllocAsync", 20, When::kAnytime, from_current,
      [](Turn& t) { AllocateAsync(t, cuMemAllocAsync); });
  add("MemAllocAsyncPtsz", 8, When::kAnytime, from_current,
      [](Turn& t) { AllocateAsync(t, cuMemAllocAsync_ptsz); });
  add("MemAllocAsyncNullStream", 4, When::kAnytime, Arguments{New(Type::kBlock), Size()},
      [](Turn& t) {
        CUdeviceptr address = 0;
        t.Fill(0, cuMemAllocAsync(&address, t.number(1), nullptr), address);
      });
  add("MemAllocFromPool", 14, When::kAnytime, from_pool,
      [](Turn& t) { AllocateFromPool(t, cuMemAllocFromPoolAsync); });
  add("MemAllocFromPoolPtsz", 4, When::kAnytime, from_pool,
      [](Turn& t) { AllocateFromPool(t, cuMemAllocFromPoolAsync_ptsz); });
  add("MemFreeAsync", 28, When::kAnytime, of_block, [](Turn& t) {
    cuMemFreeAsync(t.value(0), t.as<CUstream>(1));
    t.Empty(0);
  });
  add("MemFreeAsyncPtsz", 8, When::kAnytime, of_block, [](Turn& t) {
    cuMemFreeAsync_ptsz(t.value(0), t.as<CUstream>(1));
    t.Empty(0);
  });
  add("MemFreeOfBlock", 6, When::kAnytime, Arguments{Take(Type::kBlock)}, [](Turn& t) {
    cuMemFree_v2(t.value(0));
    t.Empty(0);
  });
  add("MemFreeAsyncAgain", 3, When::kSerial, Arguments{Below(8), Use(Type::kStream)}, [](Turn& t) {
    const uint64_t address = t.player.Stale(Type::kBlock, t.number(0));
    if (cuMemFreeAsync(address, t.as<CUstream>(1)) == CUDA_SUCCESS) t.player.ForgetValue(address);
  });
  add("MemPoolCreate", 5, When::kAnytime,
      Arguments{New(Type::kPool), Below(5), Below(3), Below(6), Below(20)}, CreatePool);
  // It may be the current pool of a device, from which others allocate.
  add("MemPoolDestroy", 8, When::kSerial, Arguments{Take(Type::kPool)}, [](Turn& t) {
    cuMemPoolDestroy(t.as<CUmemoryPool>(0));
    t.Empty(0);
  });
  add("MemPoolDestroyAgain", 1, When::kSerial, Arguments{Below(8)}, [](Turn& t) {
    const uint64_t pool = t.player.Stale(Type::kPool, t.number(0));
    if (cuMemPoolDestroy(reinterpret_cast<CUmemoryPool>(pool)) == CUDA_SUCCESS) {
      t.player.ForgetValue(pool);
    }
  });
  add("MemPoolTrimTo", 2, When::kAnytime, Arguments{Use(Type::kPool), Below(16)},
      [](Turn& t) { cuMemPoolTrimTo(t.as<CUmemoryPool>(0), t.number(1) << 20); });
  add("MemPoolTrimDefault", 1, When::kAnytime, Arguments{Below(3), Below(16)}, TrimDefault);
  add("MemPoolSetAttribute", 3, When::kAnytime, Arguments{Use(Type::kPool), Below(16), Below(8)},
      SetAttribute);
  add("MemPoolGetAttribute", 3, When::kAnytime, Arguments{Use(Type::kPool), Below(8)},
      GetAttribute);
  add("MemPoolImport", 2, When::kAnytime, Arguments{New(Type::kPool), Use(Type::kPool)},
      ImportPool);
  add("MemPoolImportPointer", 3, When::kAnytime,
      Arguments{New(Type::kImport), Use(Type::kPool), Use(Type::kBlock)}, ImportPointer);
  add("MemFreeOfImport", 2, When::kAnytime, Arguments{Take(Type::kImport)}, [](Turn& t) {
    cuMemFree_v2(t.value(0));
    t.Empty(0);
  });
  add("MemFreeAsyncOfImport", 2, When::kAnytime, Arguments{Take(Type::kImport), Use(Type::kStream)},
      [](Turn& t) {
        cuMemFreeAsync(t.value(0), t.as<CUstream>(1));
        t.Empty(0);
      });
  // Which pool a device allocates from is for all threads.
  add("DeviceSetMemPool", 3, When::kSerial, Arguments{Use(Type::kPool), Below(3)}, [](Turn& t) {
    cuDeviceSetMemPool(static_cast<CUdevice>(t.number(1)), t.as<CUmemoryPool>(0));
  });
  add("MemSetMemPool", 2, When::kSerial, Arguments{Use(Type::kPool), Below(3)}, [](Turn& t) {
    CUmemLocation location = DeviceLocation(t.number(1));
    cuMemSetMemPool(&location, CU_MEM_ALLOCATION_TYPE_PINNED, t.as<CUmemoryPool>(0));
  });
  add("LearnPool", 2, When::kAnytime, Arguments{Below(3), Below(4)}, LearnPool);
}

}  // namespace gputrace::truth

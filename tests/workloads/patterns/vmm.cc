// SPDX-License-Identifier: Apache-2.0
// Memory of cuMemCreate that something still holds.
#include <unistd.h>

#include "tests/workloads/patterns/patterns.h"

namespace {

constexpr size_t kChunk = 2 * kMiB;

CUmemAllocationProp OnDevice0() {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  return properties;
}

struct Buffer {
  CUmemGenericAllocationHandle handle = 0;
  CUdeviceptr address = 0;
  size_t size = 0;
};

[[gnu::noinline]] CUmemGenericAllocationHandle CreateMemory(size_t size) {
  const CUmemAllocationProp properties = OnDevice0();
  CUmemGenericAllocationHandle handle = 0;
  CHECK(cuMemCreate(&handle, size, &properties, 0));
  KeepFrame();
  return handle;
}

[[gnu::noinline]] CUdeviceptr ReserveRange(size_t size) {
  CUdeviceptr address = 0;
  CHECK(cuMemAddressReserve(&address, size, 0, 0, 0));
  KeepFrame();
  return address;
}

Buffer OpenBuffer(size_t size) {
  Buffer buffer{CreateMemory(size), ReserveRange(size), size};
  CHECK(cuMemMap(buffer.address, size, 0, buffer.handle, 0));
  return buffer;
}

// Gives back the reference that it takes itself, and forgets the one of the creation.
void CloseByRetained(const Buffer& buffer, bool healthy) {
  CUmemGenericAllocationHandle retained = 0;
  CHECK(cuMemRetainAllocationHandle(&retained, reinterpret_cast<void*>(buffer.address)));
  CHECK(cuMemUnmap(buffer.address, buffer.size));
  CHECK(cuMemAddressFree(buffer.address, buffer.size));
  CHECK(cuMemRelease(retained));
  if (healthy) CHECK(cuMemRelease(buffer.handle));
}

void CreationReference(bool healthy) {
  for (int i = 0; i < 64; ++i) CloseByRetained(OpenBuffer(4 * kMiB), healthy);
}

// The handle goes right after mapping, as the samples do it; later the range is forgotten.
void Mapping(bool healthy) {
  const Buffer buffer = OpenBuffer(4 * kMiB);
  CHECK(cuMemRelease(buffer.handle));
  if (!healthy) return;
  CHECK(cuMemUnmap(buffer.address, buffer.size));
  CHECK(cuMemAddressFree(buffer.address, buffer.size));
}

void Range(bool healthy) {
  const Buffer buffer = OpenBuffer(4 * kMiB);
  CHECK(cuMemRelease(buffer.handle));
  CHECK(cuMemUnmap(buffer.address, buffer.size));
  if (healthy) CHECK(cuMemAddressFree(buffer.address, buffer.size));
}

// A mapping that fails half way; the whole range is unmapped as one.
void PartialMap(bool healthy) {
  constexpr int kChunks = 8;
  constexpr int kMapped = 5;
  const CUdeviceptr address = ReserveRange(kChunks * kChunk);
  CUmemGenericAllocationHandle handles[kChunks];
  for (auto& handle : handles) handle = CreateMemory(kChunk);
  for (int i = 0; i < kChunks; ++i) {  // GPUSIM_FAIL refuses the sixth
    const CUdeviceptr at = address + static_cast<size_t>(i) * kChunk;
    EXPECT_RESULT(cuMemMap(at, kChunk, 0, handles[i], 0), i < kMapped ? 0 : 2);
    if (i == kMapped) break;
  }
  if (!healthy) {
    EXPECT_RESULT(cuMemUnmap(address, kChunks * kChunk), CUDA_ERROR_INVALID_VALUE);
    abort();
  }
  CHECK(cuMemUnmap(address, kMapped * kChunk));
  for (auto handle : handles) CHECK(cuMemRelease(handle));
  CHECK(cuMemAddressFree(address, kChunks * kChunk));
}

// One call takes several mappings away; of two mappings of one memory one stays.
void TwoMappings(bool healthy) {
  const CUdeviceptr address = ReserveRange(4 * kChunk);
  const CUmemGenericAllocationHandle twice = CreateMemory(kChunk);
  const CUmemGenericAllocationHandle once = CreateMemory(kChunk);
  CHECK(cuMemMap(address, kChunk, 0, twice, 0));
  CHECK(cuMemMap(address + kChunk, kChunk, 0, once, 0));
  CHECK(cuMemMap(address + 2 * kChunk, kChunk, 0, twice, 0));
  CHECK(cuMemRelease(once));
  CHECK(cuMemRelease(twice));
  CHECK(cuMemUnmap(address, 2 * kChunk));
  if (!healthy) return;
  CHECK(cuMemUnmap(address + 2 * kChunk, kChunk));
  CHECK(cuMemAddressFree(address, 4 * kChunk));
}

// What a process imports of its own is a further reference, also after its handle has gone.
void OwnImport(bool healthy) {
  const Buffer buffer = OpenBuffer(4 * kMiB);
  int descriptor = -1;
  CHECK(cuMemExportToShareableHandle(&descriptor, buffer.handle,
                                     CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  CHECK(cuMemRelease(buffer.handle));
  CUmemGenericAllocationHandle imported = 0;
  CHECK(cuMemImportFromShareableHandle(&imported,
                                       reinterpret_cast<void*>(static_cast<intptr_t>(descriptor)),
                                       CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  close(descriptor);
  CHECK(cuMemUnmap(buffer.address, buffer.size));
  CHECK(cuMemAddressFree(buffer.address, buffer.size));
  if (healthy) CHECK(cuMemRelease(imported));
}

// Values of handles and addresses come again: what is left is the last round's.
void Reuse(bool healthy) {
  for (int i = 0; i < 100; ++i) {
    const Buffer buffer = OpenBuffer(kChunk);
    CHECK(cuMemRelease(buffer.handle));
    CHECK(cuMemUnmap(buffer.address, buffer.size));
    CHECK(cuMemAddressFree(buffer.address, buffer.size));
  }
  const Buffer last = OpenBuffer(kChunk);
  CHECK(cuMemUnmap(last.address, last.size));
  CHECK(cuMemAddressFree(last.address, last.size));
  if (healthy) CHECK(cuMemRelease(last.handle));
}

constexpr Scene kScenes[] = {{"creation_reference", CreationReference},
                             {"mapping", Mapping},
                             {"range", Range},
                             {"partial_map", PartialMap},
                             {"two_mappings", TwoMappings},
                             {"own_import", OwnImport},
                             {"reuse", Reuse}};

}  // namespace

int main(int count, char** arguments) { return PlayScene(kScenes, count, arguments); }

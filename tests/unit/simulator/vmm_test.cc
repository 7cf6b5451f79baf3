// SPDX-License-Identifier: Apache-2.0
// Virtual memory management: what is counted, and when memory really ends.
#include <unistd.h>

#include "tests/unit/simulator/simulated.h"

namespace gputrace::sim {
namespace {

constexpr size_t kGranule = 2 * kMiB;

class Vmm : public Simulated {
 protected:
  static CUmemAllocationProp Props() {
    CUmemAllocationProp props = {};
    props.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
    props.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    return props;
  }
  static CUmemGenericAllocationHandle Create(size_t size) {
    CUmemGenericAllocationHandle handle = 0;
    const CUmemAllocationProp props = Props();
    EXPECT_OK(cuMemCreate(&handle, size, &props, 0));
    return handle;
  }
  static CUdeviceptr Reserve(size_t size) {
    CUdeviceptr address = 0;
    EXPECT_OK(cuMemAddressReserve(&address, size, 0, 0, 0));
    return address;
  }
  static CUresult Allow(CUdeviceptr address, size_t size) {
    CUmemAccessDesc access = {};
    access.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return cuMemSetAccess(address, size, &access, 1);
  }
};

TEST_F(Vmm, NeedsNoContext) {
  ASSERT_OK(cuInit(0));
  EXPECT_OK(cuMemRelease(Create(kGranule)));
}

TEST_F(Vmm, TheWholeWay) {
  Start();
  const CUmemGenericAllocationHandle handle = Create(2 * kGranule);
  EXPECT_EQ(Used(), 2 * kGranule);
  const CUdeviceptr address = Reserve(4 * kGranule);
  ASSERT_OK(cuMemMap(address, 2 * kGranule, 0, handle, 0));
  EXPECT_EQ(cuMemsetD8(address, 1, 1), CUDA_ERROR_INVALID_VALUE) << "no access yet";
  ASSERT_OK(Allow(address, 2 * kGranule));
  EXPECT_OK(cuMemsetD8(address, 1, 2 * kGranule));
  EXPECT_EQ(cuMemsetD8(address, 1, 2 * kGranule + 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAddressFree(address, 4 * kGranule), CUDA_ERROR_INVALID_VALUE)
      << "something is mapped";
  EXPECT_EQ(cuMemFree(address), CUDA_ERROR_INVALID_VALUE);
  ASSERT_OK(cuMemUnmap(address, 2 * kGranule));
  EXPECT_EQ(Used(), 2 * kGranule);
  ASSERT_OK(cuMemRelease(handle));
  EXPECT_EQ(Used(), 0u);
  EXPECT_EQ(cuMemAddressFree(address, 2 * kGranule), CUDA_ERROR_INVALID_VALUE) << "another size";
  EXPECT_OK(cuMemAddressFree(address, 4 * kGranule));
}

TEST_F(Vmm, MappingsKeepReleasedMemory) {
  Start();
  const CUmemGenericAllocationHandle handle = Create(kGranule);
  const CUdeviceptr address = Reserve(kGranule);
  ASSERT_OK(cuMemMap(address, kGranule, 0, handle, 0));
  ASSERT_OK(cuMemRelease(handle));
  EXPECT_EQ(cuMemRelease(handle), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Used(), kGranule);
  CUmemGenericAllocationHandle again = 0;
  ASSERT_OK(cuMemRetainAllocationHandle(&again, reinterpret_cast<void*>(address + 5)));
  EXPECT_EQ(again, handle);
  ASSERT_OK(cuMemUnmap(address, kGranule));
  EXPECT_EQ(Used(), kGranule) << "the retained reference";
  ASSERT_OK(cuMemRelease(again));
  EXPECT_EQ(Used(), 0u);
}

TEST_F(Vmm, OneAllocationAtTwoPlaces) {
  Start();
  const CUmemGenericAllocationHandle handle = Create(kGranule);
  const CUdeviceptr first = Reserve(kGranule);
  const CUdeviceptr second = Reserve(kGranule);
  ASSERT_OK(cuMemMap(first, kGranule, 0, handle, 0));
  ASSERT_OK(cuMemMap(second, kGranule, 0, handle, 0));
  ASSERT_OK(Allow(first, kGranule));
  ASSERT_OK(Allow(second, kGranule));
  EXPECT_EQ(Used(), kGranule);
  ASSERT_OK(cuMemsetD8(first, 9, 1));
  unsigned char byte = 0;
  ASSERT_OK(cuMemcpyDtoH(&byte, second, 1));
  EXPECT_EQ(byte, 9);
}

TEST_F(Vmm, OneUnmapMayCoverSeveralMappings) {
  Start();
  const CUdeviceptr address = Reserve(4 * kGranule);
  for (size_t i = 0; i < 3; ++i) {
    const CUmemGenericAllocationHandle handle = Create(kGranule);
    ASSERT_OK(cuMemMap(address + i * kGranule, kGranule, 0, handle, 0));
    ASSERT_OK(cuMemRelease(handle));
  }
  ASSERT_OK(Allow(address, 3 * kGranule));
  EXPECT_OK(cuMemsetD8(address + 10, 1, 2 * kGranule)) << "across mappings";
  EXPECT_EQ(cuMemUnmap(address, 4 * kGranule), CUDA_ERROR_INVALID_VALUE) << "a gap";
  EXPECT_EQ(cuMemUnmap(address, kGranule / 2), CUDA_ERROR_INVALID_VALUE) << "a part";
  EXPECT_OK(cuMemUnmap(address, 3 * kGranule));
  EXPECT_EQ(Used(), 0u);
}

TEST_F(Vmm, BadArguments) {
  Start();
  CUmemGenericAllocationHandle handle = 0;
  CUmemAllocationProp props = Props();
  EXPECT_EQ(cuMemCreate(&handle, kGranule - 1, &props, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemCreate(&handle, 0, &props, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemCreate(&handle, kGranule, &props, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemCreate(&handle, 100 * kGiB, &props, 0), CUDA_ERROR_OUT_OF_MEMORY);
  props.location.id = 3;
  EXPECT_EQ(cuMemCreate(&handle, kGranule, &props, 0), CUDA_ERROR_INVALID_DEVICE);
  props = Props();
  props.requestedHandleTypes = CU_MEM_HANDLE_TYPE_FABRIC;
  EXPECT_EQ(cuMemCreate(&handle, kGranule, &props, 0), CUDA_ERROR_NOT_SUPPORTED);
  CUdeviceptr address = 0;
  EXPECT_EQ(cuMemAddressReserve(&address, 0, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAddressReserve(&address, kGranule, 3, 0, 0), CUDA_ERROR_INVALID_VALUE);
  handle = Create(kGranule);
  address = Reserve(2 * kGranule);
  EXPECT_EQ(cuMemMap(address, 2 * kGranule, 0, handle, 0), CUDA_ERROR_INVALID_VALUE)
      << "larger than it";
  EXPECT_EQ(cuMemMap(address + 4096, kGranule, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemMap(address + 2 * kGranule, kGranule, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemMap(address, kGranule, 0, 12345, 0), CUDA_ERROR_INVALID_VALUE);
  ASSERT_OK(cuMemMap(address, kGranule, 0, handle, 0));
  EXPECT_EQ(cuMemMap(address, kGranule, 0, handle, 0), CUDA_ERROR_INVALID_VALUE)
      << "mapped already";
}

TEST_F(Vmm, HostMemoryIsNotTheCards) {
  Start();
  CUmemGenericAllocationHandle handle = 0;
  CUmemAllocationProp props = Props();
  props.location = {CU_MEM_LOCATION_TYPE_HOST_NUMA, {0}};
  ASSERT_OK(cuMemCreate(&handle, kGranule, &props, 0));
  EXPECT_EQ(Used(), 0u);
  EXPECT_OK(cuMemRelease(handle));
}

TEST_F(Vmm, ADestroyedContextDoesNotEndIt) {
  Start();
  CUcontext context = nullptr;
  ASSERT_OK(cuCtxCreate(&context, nullptr, 0, 0));
  const CUmemGenericAllocationHandle handle = Create(kGranule);
  ASSERT_OK(cuCtxDestroy(context));
  EXPECT_EQ(Used(), kGranule);
  EXPECT_OK(cuMemRelease(handle));
}

TEST_F(Vmm, AnExportedHandleComesBackTheSame) {
  Start();
  const CUmemGenericAllocationHandle handle = Create(kGranule);
  int file = -1;
  ASSERT_OK(
      cuMemExportToShareableHandle(&file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  CUmemGenericAllocationHandle imported = 0;
  ASSERT_OK(cuMemImportFromShareableHandle(&imported, reinterpret_cast<void*>(intptr_t{file}),
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  EXPECT_EQ(imported, handle);
  EXPECT_OK(cuMemRelease(handle));
  EXPECT_EQ(Used(), kGranule);
  EXPECT_OK(cuMemRelease(imported));
  EXPECT_EQ(Used(), 0u);
  close(file);
  EXPECT_EQ(cuMemImportFromShareableHandle(&imported, reinterpret_cast<void*>(intptr_t{-1}),
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Vmm, DescriptorsStandForTheMemoryNotForItsHandle) {
  Start();
  const CUmemGenericAllocationHandle first = Create(kGranule);
  int file = -1;
  ASSERT_OK(
      cuMemExportToShareableHandle(&file, first, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  ASSERT_OK(cuMemRelease(first));
  // One of these gets the old handle's value.
  for (int i = 0; i < 100; ++i) Create(kGranule);
  CUmemGenericAllocationHandle imported = 0;
  EXPECT_EQ(cuMemImportFromShareableHandle(&imported, reinterpret_cast<void*>(intptr_t{file}),
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
            CUDA_ERROR_INVALID_VALUE);
  close(file);
}

CUresult BindMem(CUmemGenericAllocationHandle object, CUdevice device,
                 CUmemGenericAllocationHandle memory) {
  return cuMulticastBindMem_v2(object, device, 0, memory, 0, kGranule, 0);
}

TEST_F(Vmm, MulticastKeepsWhatIsBound) {
  Start({{"GPUSIM_DEVICES", "2"}});
  CUmulticastObjectProp props = {};
  props.numDevices = 2;
  props.size = kGranule;
  CUmemGenericAllocationHandle object = 0;
  ASSERT_OK(cuMulticastCreate(&object, &props));
  EXPECT_EQ(Used(), 0u);
  const CUmemGenericAllocationHandle memory = Create(kGranule);
  EXPECT_EQ(BindMem(object, 0, memory), CUDA_ERROR_ILLEGAL_STATE);
  ASSERT_OK(cuMulticastAddDevice(object, 0));
  ASSERT_OK(cuMulticastAddDevice(object, 1));
  EXPECT_EQ(cuMulticastAddDevice(object, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(BindMem(object, 0, object), CUDA_ERROR_INVALID_VALUE) << "it is no memory";
  ASSERT_OK(BindMem(object, 0, memory));
  ASSERT_OK(cuMemRelease(memory));
  EXPECT_EQ(Used(), kGranule);
  ASSERT_OK(cuMulticastUnbind(object, 0, 0, kGranule));
  EXPECT_EQ(Used(), 0u);
  // When it ends it lets go of what is still bound.
  const CUmemGenericAllocationHandle other = Create(kGranule);
  ASSERT_OK(BindMem(object, 1, other));
  ASSERT_OK(cuMemRelease(other));
  EXPECT_EQ(Used(), kGranule);
  EXPECT_OK(cuMemRelease(object));
  EXPECT_EQ(Used(), 0u);
}

}  // namespace
}  // namespace gputrace::sim

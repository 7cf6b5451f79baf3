// SPDX-License-Identifier: Apache-2.0
// Virtual memory management: handles, address ranges and mappings, in any order.
#include <unistd.h>

#include "tests/truth/player.h"

namespace gputrace::truth {
namespace {

constexpr uint64_t kGranule = uint64_t{2} << 20;

void Create(Turn& t) {
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type =
      t.number(2) == 0 ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = t.number(2) == 0 ? 0 : static_cast<int>(t.number(3));
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CUmemGenericAllocationHandle handle = 0;
  const CUresult result = cuMemCreate(&handle, t.number(1), &properties, 0);
  t.Fill(0, result, handle, t.number(1));
}

// Maps a handle somewhere into a range; where something is already mapped that is refused.
void Map(Turn& t) {
  const Slot range = t.slot(1);
  const Slot memory = t.slot(2);
  const uint64_t at = range.value + (range.size == 0 ? 0 : t.number(3) * kGranule % range.size);
  const uint64_t offset = t.number(4) == 0 ? kGranule : 0;
  const uint64_t size = memory.size - offset;
  const CUresult result = cuMemMap(at, size, offset, memory.value, 0);
  t.Fill(0, result, at, size);
}

void Retain(Turn& t) {
  CUmemGenericAllocationHandle handle = 0;
  const Slot mapping = t.slot(1);
  const CUresult result = cuMemRetainAllocationHandle(
      &handle, reinterpret_cast<void*>(mapping.value + t.number(2) * 4096));
  t.Fill(0, result, handle, mapping.size);
}

// Several mappings that adjoin, or part of one: then it is refused.
void UnmapWide(Turn& t) {
  const Slot mapping = t.slot(0);
  const uint64_t size = mapping.size + (t.number(1) + 1) * kGranule;
  if (cuMemUnmap(mapping.value, size) == CUDA_SUCCESS) {
    t.player.ForgetMappings(mapping.value, size);
  }
}

void SetAccess(Turn& t) {
  CUmemAccessDesc access = {};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = static_cast<int>(t.number(1));
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  cuMemSetAccess(t.value(0), t.slot(0).size, &access, 1);
}

void Export(Turn& t) {
  int descriptor = -1;
  const CUresult result = cuMemExportToShareableHandle(&descriptor, t.value(1),
                                                       CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
  const uint64_t old = t.value(0);
  if (old != 0) close(static_cast<int>(old));
  t.Fill(0, result, static_cast<uint64_t>(descriptor), t.slot(1).size);
}

void Import(Turn& t) {
  CUmemGenericAllocationHandle handle = 0;
  const CUresult result = cuMemImportFromShareableHandle(&handle, t.as<void*>(1),
                                                         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  t.Fill(0, result, handle, t.slot(1).size);
}

void CreateMulticast(Turn& t) {
  CUmulticastObjectProp properties = {};
  properties.numDevices = 1;
  properties.size = t.number(1);
  CUmemGenericAllocationHandle handle = 0;
  t.Fill(0, cuMulticastCreate(&handle, &properties), handle, t.number(1));
}

}  // namespace

void AddVirtualOperations(std::vector<Operation>* operations) {
  const auto add = [operations](auto... parts) { operations->emplace_back(parts...); };
  using Arguments = std::vector<Argument>;
  add("MemCreate", 10, When::kAnytime,
      Arguments{New(Type::kPhysical), Granules(), Below(8), Below(3)}, Create);
  add("MemRelease", 12, When::kAnytime, Arguments{Take(Type::kPhysical)}, [](Turn& t) {
    cuMemRelease(t.value(0));
    t.Empty(0);
  });
  add("MemReleaseAgain", 2, When::kSerial, Arguments{Below(8)}, [](Turn& t) {
    const uint64_t handle = t.player.Stale(Type::kPhysical, t.number(0));
    if (cuMemRelease(handle) == CUDA_SUCCESS) t.player.ForgetValue(handle);
  });
  add("MemRetain", 5, When::kAnytime,
      Arguments{New(Type::kPhysical), Use(Type::kMapping), Below(512)}, Retain);
  add("MemAddressReserve", 5, When::kAnytime, Arguments{New(Type::kRange), Granules(), Below(4)},
      [](Turn& t) {
        CUdeviceptr address = 0;
        const uint64_t size = t.number(1) * (t.number(2) + 1);
        t.Fill(0, cuMemAddressReserve(&address, size, 0, 0, 0), address, size);
      });
  add("MemAddressFree", 4, When::kAnytime, Arguments{Take(Type::kRange)}, [](Turn& t) {
    // Refused while something is mapped there.
    if (cuMemAddressFree(t.value(0), t.slot(0).size) == CUDA_SUCCESS) t.Empty(0);
  });
  add("MemAddressFreePart", 1, When::kAnytime, Arguments{Use(Type::kRange)},
      [](Turn& t) { cuMemAddressFree(t.value(0), t.slot(0).size / 2); });
  add("MemMap", 14, When::kAnytime,
      Arguments{New(Type::kMapping), Use(Type::kRange), Use(Type::kPhysical), Below(16), Below(8)},
      Map);
  add("MemUnmap", 12, When::kAnytime, Arguments{Take(Type::kMapping)}, [](Turn& t) {
    cuMemUnmap(t.value(0), t.slot(0).size);
    t.Empty(0);
  });
  add("MemUnmapWide", 2, When::kAnytime, Arguments{Use(Type::kMapping), Below(4)}, UnmapWide);
  add("MemSetAccess", 4, When::kAnytime, Arguments{Use(Type::kMapping), Below(2)}, SetAccess);
  add("MemExport", 3, When::kAnytime, Arguments{New(Type::kShared), Use(Type::kPhysical)}, Export);
  // Of memory of this process: one more reference.
  add("MemImport", 4, When::kAnytime, Arguments{New(Type::kPhysical), Use(Type::kShared)}, Import);
  add("CloseShared", 1, When::kAnytime, Arguments{Take(Type::kShared)}, [](Turn& t) {
    if (t.value(0) != 0) close(static_cast<int>(t.value(0)));
    t.slot(0) = {};
  });
  add("MulticastCreate", 2, When::kAnytime, Arguments{New(Type::kMulticast), Granules()},
      CreateMulticast);
  add("MulticastAddDevice", 4, When::kAnytime, Arguments{Use(Type::kMulticast), Below(2)},
      [](Turn& t) { cuMulticastAddDevice(t.value(0), static_cast<CUdevice>(t.number(1))); });
  add("MulticastBindMem", 3, When::kAnytime,
      Arguments{Use(Type::kMulticast), Use(Type::kPhysical), Below(3)}, [](Turn& t) {
        cuMulticastBindMem(t.value(0), t.number(2) * kGranule, t.value(1), 0, kGranule, 0);
      });
  add("MulticastBindAddr", 6, When::kAnytime,
      Arguments{Use(Type::kMulticast), Use(Type::kMapping), Below(3)}, [](Turn& t) {
        cuMulticastBindAddr(t.value(0), t.number(2) * kGranule, t.value(1), kGranule, 0);
      });
  add("MulticastBindMemV2", 2, When::kAnytime,
      Arguments{Use(Type::kMulticast), Use(Type::kPhysical), Below(3), Below(2)}, [](Turn& t) {
        cuMulticastBindMem_v2(t.value(0), static_cast<CUdevice>(t.number(3)),
                              t.number(2) * kGranule, t.value(1), 0, kGranule, 0);
      });
  add("MulticastBindAddrV2", 6, When::kAnytime,
      Arguments{Use(Type::kMulticast), Use(Type::kMapping), Below(3), Below(2)}, [](Turn& t) {
        cuMulticastBindAddr_v2(t.value(0), static_cast<CUdevice>(t.number(3)),
                               t.number(2) * kGranule, t.value(1), kGranule, 0);
      });
  add("MulticastUnbind", 4, When::kAnytime, Arguments{Use(Type::kMulticast), Below(2), Below(3)},
      [](Turn& t) {
        cuMulticastUnbind(t.value(0), static_cast<CUdevice>(t.number(1)), t.number(2) * kGranule,
                          kGranule);
      });
  add("MulticastMap", 2, When::kAnytime,
      Arguments{New(Type::kMapping), Use(Type::kRange), Use(Type::kMulticast), Below(16), Below(8)},
      Map);
  add("MulticastRelease", 2, When::kAnytime, Arguments{Take(Type::kMulticast)}, [](Turn& t) {
    cuMemRelease(t.value(0));
    t.Empty(0);
  });
}

}  // namespace gputrace::truth

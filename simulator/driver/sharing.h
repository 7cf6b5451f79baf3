// SPDX-License-Identifier: Apache-2.0
// How memory of one process is found by another.
#ifndef GPUTRACE_SIMULATOR_DRIVER_SHARING_H_
#define GPUTRACE_SIMULATOR_DRIVER_SHARING_H_

#include <cstdint>

#include "simulator/driver/cuda_api.h"

namespace gputrace::sim {

struct Allocation;

// Says where bytes are: in which file of which process. Small enough for the 64 bytes of a
// CUipcMemHandle.
struct SharedPlace {
  static constexpr uint32_t kMagic = 0x53555047;

  uint32_t magic = kMagic;
  int32_t process = 0;
  int32_t file = -1;             // descriptor of the owner
  int32_t physical_device = -1;  // -1: host
  uint64_t offset = 0;
  uint64_t size = 0;
  uint64_t id = 0;  // of what the owner shares
};
static_assert(sizeof(SharedPlace) <= CU_IPC_HANDLE_SIZE);

// A place in this process.
SharedPlace PlaceHere(int file, int physical_device, uint64_t offset, uint64_t size, uint64_t id);

// Where the memory of an allocation is that a heap has cut out of a device's. False: of no such
// memory.
bool PlaceOf(const Allocation& allocation, SharedPlace* place);

// Maps a place of another process. The address that corresponds to its start, and what was mapped
// for it; false if the owner is gone.
struct MappedPlace {
  uint64_t address = 0;
  uint64_t mapped_at = 0;
  uint64_t mapped_size = 0;
};
bool MapPlace(const SharedPlace& place, MappedPlace* mapped);

// Opens the owner's file; -1 if the owner is gone and there is no session that kept it.
int OpenPlace(const SharedPlace& place);

// The device of this process that is the owner's; -1: none, or the host.
int DeviceOfPlace(const SharedPlace& place);

}  // namespace gputrace::sim

#endif  // GPUTRACE_SIMULATOR_DRIVER_SHARING_H_

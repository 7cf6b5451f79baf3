// SPDX-License-Identifier: Apache-2.0
// Starting the driver; devices and what they say of themselves.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "simulator/driver/journal.h"
#include "simulator/driver/state.h"

namespace gputrace::sim {
namespace {

// CUDA_VISIBLE_DEVICES is read by the driver: a list of ordinals, ended by the first that is none.
std::vector<size_t> VisibleDevices(const std::vector<size_t>& all) {
  const char* visible = getenv("CUDA_VISIBLE_DEVICES");
  if (visible == nullptr) return all;
  std::vector<size_t> chosen;
  while (*visible != '\0') {
    char* end = nullptr;
    const long ordinal = strtol(visible, &end, 10);
    if (end == visible || ordinal < 0 || static_cast<size_t>(ordinal) >= all.size()) break;
    chosen.push_back(all[static_cast<size_t>(ordinal)]);
    visible = *end == ',' ? end + 1 : end;
    if (*end != ',') break;
  }
  return chosen;
}

void MakeDevices() {
  const std::vector<size_t> sizes = VisibleDevices(state().config.device_bytes);
  state().devices = std::vector<Device>(sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) {
    Device& device = state().devices[i];
    device.total = sizes[i];
    device.primary.device = static_cast<int>(i);
    device.primary.primary = true;
    device.default_pool.device = static_cast<int>(i);
    device.default_pool.is_default = true;
    device.current_pool = &device.default_pool;
    state().pools.push_back(&device.default_pool);
  }
}

// Attributes by their numbers in cuda.h, with values of a card of compute capability 9.0. Assumed, but
// for what follows from this stand-in's own abilities.
int AttributeValue(int attribute) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y:
      return 1024;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z:
      return 64;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
      return 2147483647;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z:
      return 65535;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
      return 49152;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      return 232448;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
      return 233472;
    case CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY:
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR:
      return 65536;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
      return 32;
    case CU_DEVICE_ATTRIBUTE_MAX_PITCH:
      return 2147483647;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
      return 1785000;
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
      return 2619000;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
      return 5120;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
      return 50 << 20;
    case CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT:
      return 512;
    case CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT:
      return 32;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      return 132;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
      return 2048;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR:
      return 32;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      return 9;
    case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
      return 3;
    case CU_DEVICE_ATTRIBUTE_GPU_OVERLAP:
    case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
    case CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY:
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS:
    case CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
    case CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES:
      return 1;
    default:
      return 0;
  }
}

}  // namespace

CUresult Sim_cuInit(unsigned int flags) {
  const Locked locked;
  State& s = state();
  if (!s.initialised) {
    s.config = ReadConfig();
    if (!s.config.error.empty()) {
      fprintf(stderr, "gputrace stand-in GPU: %s\n", s.config.error.c_str());
      return CUDA_ERROR_INVALID_VALUE;
    }
    MakeDevices();
    ArrangeLedgerDumps();
    s.initialised = true;
  }
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  return s.devices.empty() ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}

CUresult Sim_cuDriverGetVersion(int* version) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Locked locked;
  *version = state().initialised ? state().config.version : ReadConfig().version;
  return CUDA_SUCCESS;
}

CUresult Sim_cuDeviceGetCount(int* count) {
  const Locked locked;
  if (!state().initialised) return CUDA_ERROR_NOT_INITIALIZED;
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *count = static_cast<int>(state().devices.size());
  return CUDA_SUCCESS;
}

CUresult Sim_cuDeviceGet(CUdevice* device, int ordinal) {
  const Locked locked;
  if (!state().initialised) return CUDA_ERROR_NOT_INITIALIZED;
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!IsDevice(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult Sim_cuDeviceGetName(char* name, int length, CUdevice device) {
  const Locked locked;
  if (!IsDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  if (name == nullptr || length <= 0) return CUDA_ERROR_INVALID_VALUE;
  snprintf(name, static_cast<size_t>(length), "gputrace stand-in GPU");
  return CUDA_SUCCESS;
}

CUresult Sim_cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  const Locked locked;
  if (!IsDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  if (uuid == nullptr) return CUDA_ERROR_INVALID_VALUE;
  memcpy(uuid->bytes, "gputrace-sim-gpu", sizeof(uuid->bytes));
  uuid->bytes[15] = static_cast<char>('0' + device);
  return CUDA_SUCCESS;
}
CUresult Sim_cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  return Sim_cuDeviceGetUuid_v2(uuid, device);
}

CUresult Sim_cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  const Locked locked;
  if (!IsDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *bytes = state().devices[static_cast<size_t>(device)].total;
  return CUDA_SUCCESS;
}

CUresult Sim_cuDeviceComputeCapability(int* major, int* minor, CUdevice device) {
  const Locked locked;
  if (!IsDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  if (major == nullptr || minor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *major = 9;
  *minor = 0;
  return CUDA_SUCCESS;
}

CUresult Sim_cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  const Locked locked;
  if (!IsDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *value = attribute == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID ? device + 1 : AttributeValue(attribute);
  return CUDA_SUCCESS;
}

CUresult Sim_cuDeviceGetPCIBusId(char* id, int length, CUdevice device) {
  const Locked locked;
  if (!IsDevice(device)) return CUDA_ERROR_INVALID_DEVICE;
  if (id == nullptr || length <= 0) return CUDA_ERROR_INVALID_VALUE;
  snprintf(id, static_cast<size_t>(length), "0000:%02x:00.0", device + 1);
  return CUDA_SUCCESS;
}

CUresult Sim_cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  const Locked locked;
  if (!IsDevice(device) || !IsDevice(peer)) return CUDA_ERROR_INVALID_DEVICE;
  if (can == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *can = device != peer ? 1 : 0;
  return CUDA_SUCCESS;
}

CUresult Sim_cuMemGetInfo_v2(size_t* free, size_t* total) {
  const Locked locked;
  Context* context = nullptr;
  if (const CUresult result = NeedContext(&context); result != CUDA_SUCCESS) return result;
  const Device& device = state().devices[static_cast<size_t>(context->device)];
  const size_t taken = std::min(device.total, device.used + state().config.other_use);
  if (free != nullptr) *free = device.total - taken;
  if (total != nullptr) *total = device.total;
  return CUDA_SUCCESS;
}

}  // namespace gputrace::sim

// SPDX-License-Identifier: Apache-2.0
// What devices say of themselves, but for attributes.
#include <cstdio>

#include "bodies.h"
#include "simulator/driver/device_attributes.h"
#include "simulator/driver/driver.h"

namespace gputrace::sim {
namespace {

constexpr char kName[] = "gputrace stand-in GPU";

CUresult GetUuid(CUuuid* uuid, CUdevice dev) {
  const Guard guard;
  Device* device = nullptr;
  GPUSIM_TRY(FindDevice(dev, &device));
  if (uuid == nullptr) return CUDA_ERROR_INVALID_VALUE;
  device->Uuid(reinterpret_cast<unsigned char*>(uuid->bytes));
  return CUDA_SUCCESS;
}

// Bus numbers begin with 1.
void PciBusId(const Device& device, char* out, size_t size) {
  snprintf(out, size, "0000:%02X:00.0", static_cast<unsigned>(device.physical + 1));
}

}  // namespace

extern "C" {

CUresult gpusim_cuDeviceGetCount(int* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Guard guard;
  *count = static_cast<int>(TheDriver().devices.size());
  return CUDA_SUCCESS;
}

CUresult gpusim_cuDeviceGet(CUdevice* device, int ordinal) {
  const Guard guard;
  Device* found = nullptr;
  GPUSIM_TRY(FindDevice(ordinal, &found));
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

// All cards have one name: programs rely on that for cards of one kind.
CUresult gpusim_cuDeviceGetName(char* name, int len, CUdevice dev) {
  const Guard guard;
  Device* device = nullptr;
  GPUSIM_TRY(FindDevice(dev, &device));
  if (name == nullptr || len <= 0) return CUDA_ERROR_INVALID_VALUE;
  snprintf(name, static_cast<size_t>(len), "%s", kName);
  return CUDA_SUCCESS;
}

CUresult gpusim_cuDeviceGetUuid(CUuuid* uuid, CUdevice dev) { return GetUuid(uuid, dev); }
CUresult gpusim_cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice dev) { return GetUuid(uuid, dev); }

CUresult gpusim_cuDeviceTotalMem_v2(size_t* bytes, CUdevice dev) {
  const Guard guard;
  Device* device = nullptr;
  GPUSIM_TRY(FindDevice(dev, &device));
  if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *bytes = device->total;
  return CUDA_SUCCESS;
}

CUresult gpusim_cuDeviceComputeCapability(int* major, int* minor, CUdevice dev) {
  const Guard guard;
  Device* device = nullptr;
  GPUSIM_TRY(FindDevice(dev, &device));
  if (major == nullptr || minor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *major = 9;
  *minor = 0;
  return CUDA_SUCCESS;
}

CUresult gpusim_cuDeviceGetPCIBusId(char* pciBusId, int len, CUdevice dev) {
  const Guard guard;
  Device* device = nullptr;
  GPUSIM_TRY(FindDevice(dev, &device));
  if (pciBusId == nullptr || len <= 0) return CUDA_ERROR_INVALID_VALUE;
  PciBusId(*device, pciBusId, static_cast<size_t>(len));
  return CUDA_SUCCESS;
}

CUresult gpusim_cuDeviceGetByPCIBusId(CUdevice* dev, const char* pciBusId) {
  if (dev == nullptr || pciBusId == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Guard guard;
  unsigned domain = 0;
  unsigned bus = 0;
  unsigned slot = 0;
  if (sscanf(pciBusId, "%x:%x:%x", &domain, &bus, &slot) < 2) return CUDA_ERROR_INVALID_VALUE;
  for (const auto& device : TheDriver().devices) {
    if (domain == 0 && slot == 0 && bus == static_cast<unsigned>(device->physical + 1)) {
      *dev = device->ordinal;
      return CUDA_SUCCESS;
    }
  }
  return CUDA_ERROR_INVALID_DEVICE;
}

CUresult gpusim_cuDeviceCanAccessPeer(int* canAccessPeer, CUdevice dev, CUdevice peerDev) {
  const Guard guard;
  Device* device = nullptr;
  GPUSIM_TRY(FindDevice(dev, &device));
  GPUSIM_TRY(FindDevice(peerDev, &device));
  if (canAccessPeer == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *canAccessPeer = dev != peerDev ? 1 : 0;
  return CUDA_SUCCESS;
}

CUresult gpusim_cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute attrib,
                                        CUdevice srcDevice, CUdevice dstDevice) {
  const Guard guard;
  Device* device = nullptr;
  GPUSIM_TRY(FindDevice(srcDevice, &device));
  GPUSIM_TRY(FindDevice(dstDevice, &device));
  if (value == nullptr || srcDevice == dstDevice) return CUDA_ERROR_INVALID_VALUE;
  *value = attrib == CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK ? 0 : 1;
  return CUDA_SUCCESS;
}

CUresult gpusim_cuDeviceGetProperties(CUdevprop* prop, CUdevice dev) {
  const Guard guard;
  Device* device = nullptr;
  GPUSIM_TRY(FindDevice(dev, &device));
  if (prop == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto value = [dev](CUdevice_attribute attribute) {
    int number = 0;
    DeviceAttribute(attribute, dev, &number);
    return number;
  };
  *prop = {};
  prop->maxThreadsPerBlock = value(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  prop->maxThreadsDim[0] = value(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X);
  prop->maxThreadsDim[1] = value(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y);
  prop->maxThreadsDim[2] = value(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
  prop->maxGridSize[0] = value(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
  prop->maxGridSize[1] = value(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
  prop->maxGridSize[2] = value(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
  prop->sharedMemPerBlock = value(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  prop->totalConstantMemory = value(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY);
  prop->SIMDWidth = value(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
  prop->memPitch = value(CU_DEVICE_ATTRIBUTE_MAX_PITCH);
  prop->regsPerBlock = value(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
  prop->clockRate = value(CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
  prop->textureAlign = value(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT);
  return CUDA_SUCCESS;
}

CUresult gpusim_cuDeviceGetAttribute(int* pi, CUdevice_attribute attrib, CUdevice dev) {
  const Guard guard;
  Device* device = nullptr;
  GPUSIM_TRY(FindDevice(dev, &device));
  if (pi == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return DeviceAttribute(attrib, dev, pi);
}

CUresult gpusim_cuDeviceGetTexture1DLinearMaxWidth(size_t* maxWidthInElements, CUarray_format,
                                                   unsigned, CUdevice dev) {
  const Guard guard;
  Device* device = nullptr;
  GPUSIM_TRY(FindDevice(dev, &device));
  if (maxWidthInElements == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *maxWidthInElements = size_t{1} << 27;
  return CUDA_SUCCESS;
}

CUresult gpusim_cuDeviceGetExecAffinitySupport(int* pi, CUexecAffinityType type, CUdevice dev) {
  const Guard guard;
  Device* device = nullptr;
  GPUSIM_TRY(FindDevice(dev, &device));
  if (pi == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pi = type == CU_EXEC_AFFINITY_TYPE_SM_COUNT ? 1 : 0;
  return CUDA_SUCCESS;
}

}  // extern "C"

}  // namespace gputrace::sim

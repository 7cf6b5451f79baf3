// SPDX-License-Identifier: Apache-2.0
#include "interpose/resolve/driver.h"

#include <atomic>

#include "interpose/resolve/elf_lookup.h"

namespace gputrace::interpose {
namespace {

Driver g_driver;
std::atomic<bool> g_known;
const Driver kNoDriver{};

// Several threads may fill in the same values at once: none waits for another, which might be one
// that a fork has left behind.
template <typename Value>
void Set(Value* place, Value value) {
  std::atomic_ref<Value>(*place).store(value, std::memory_order_relaxed);
}

template <typename Function>
void Find(const link_map* object, const char* name, Function* function) {
  Set(function, reinterpret_cast<Function>(FindInObject(object, name)));
}

void Fill(const link_map* object) {
  Find(object, "cuCtxGetCurrent", &g_driver.ctx_get_current);
  Find(object, "cuCtxGetDevice", &g_driver.ctx_get_device);
  Find(object, "cuDeviceGetCount", &g_driver.device_get_count);
  Find(object, "cuDeviceGet", &g_driver.device_get);
  Find(object, "cuDeviceGetName", &g_driver.device_get_name);
  const bool has_uuid_v2 = FindInObject(object, "cuDeviceGetUuid_v2") != nullptr;
  Find(object, has_uuid_v2 ? "cuDeviceGetUuid_v2" : "cuDeviceGetUuid", &g_driver.device_get_uuid);
  Find(object, "cuDeviceTotalMem_v2", &g_driver.device_total_mem);
  Find(object, "cuDriverGetVersion", &g_driver.driver_get_version);
  Find(object, "cuStreamGetCaptureInfo", &g_driver.stream_get_capture_info);
  Find(object, "cuArrayGetMemoryRequirements", &g_driver.array_get_memory_requirements);
  Find(object, "cuMipmappedArrayGetMemoryRequirements", &g_driver.mipmap_get_memory_requirements);
  Find(object, "cuArray3DGetDescriptor_v2", &g_driver.array_3d_get_descriptor);
  Find(object, "cuMemGetInfo_v2", &g_driver.mem_get_info);
  Find(object, "cuDeviceGetMemPool", &g_driver.device_get_mem_pool);
  Find(object, "cuMemPoolGetAttribute", &g_driver.mem_pool_get_attribute);
  Find(object, "cuDeviceGetGraphMemAttribute", &g_driver.device_get_graph_mem_attribute);
  Find(object, "cuMemGetAddressRange_v2", &g_driver.mem_get_address_range);
  Set(&g_driver.path, static_cast<const char*>(object->l_name));
}

}  // namespace

const Driver& driver() {
  if (g_known.load(std::memory_order_acquire)) return g_driver;
  const link_map* object = DriverObject();
  if (object == nullptr) return kNoDriver;
  Fill(object);
  g_known.store(true, std::memory_order_release);
  return g_driver;
}

}  // namespace gputrace::interpose

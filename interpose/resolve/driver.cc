// SPDX-License-Identifier: Apache-2.0
#include "interpose/resolve/driver.h"

#include <atomic>

#include "interpose/resolve/elf_lookup.h"

namespace gputrace::interpose {
namespace {

enum : int { kUnknown = 0, kFilling, kKnown };

Driver g_driver;
std::atomic<int> g_state;
const Driver kNoDriver{};

template <typename Function>
void Find(const link_map* object, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(FindInObject(object, name));
}

void Fill(const link_map* object) {
  Find(object, "cuCtxGetCurrent", &g_driver.ctx_get_current);
  Find(object, "cuCtxGetDevice", &g_driver.ctx_get_device);
  Find(object, "cuDeviceGetCount", &g_driver.device_get_count);
  Find(object, "cuDeviceGet", &g_driver.device_get);
  Find(object, "cuDeviceGetName", &g_driver.device_get_name);
  Find(object, "cuDeviceGetUuid_v2", &g_driver.device_get_uuid);
  if (g_driver.device_get_uuid == nullptr) {
    Find(object, "cuDeviceGetUuid", &g_driver.device_get_uuid);
  }
  Find(object, "cuDeviceTotalMem_v2", &g_driver.device_total_mem);
  Find(object, "cuDriverGetVersion", &g_driver.driver_get_version);
  Find(object, "cuStreamGetCaptureInfo", &g_driver.stream_get_capture_info);
  Find(object, "cuArrayGetMemoryRequirements", &g_driver.array_get_memory_requirements);
  Find(object, "cuMipmappedArrayGetMemoryRequirements", &g_driver.mipmap_get_memory_requirements);
  Find(object, "cuArray3DGetDescriptor_v2", &g_driver.array_3d_get_descriptor);
  g_driver.path = object->l_name;
}

}  // namespace

const Driver& driver() {
  int state = g_state.load(std::memory_order_acquire);
  if (state == kKnown) return g_driver;
  const link_map* object = DriverObject();
  if (object == nullptr) return kNoDriver;
  state = kUnknown;
  if (g_state.compare_exchange_strong(state, kFilling)) {
    Fill(object);
    g_state.store(kKnown, std::memory_order_release);
    return g_driver;
  }
  while (g_state.load(std::memory_order_acquire) != kKnown) __builtin_ia32_pause();
  return g_driver;
}

}  // namespace gputrace::interpose

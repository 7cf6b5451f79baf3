// SPDX-License-Identifier: Apache-2.0
// cuInit: reads the environment and makes the cards.
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "bodies.h"
#include "simulator/driver/config.h"
#include "simulator/driver/driver.h"
#include "simulator/driver/pool.h"
#include "simulator/driver/session.h"

namespace gputrace::sim {
namespace {

std::unique_ptr<Device> MakeDevice(int physical) {
  auto device = std::make_unique<Device>();
  device->physical = physical;
  device->total = config().memory[static_cast<size_t>(physical)];
  device->other = config().other_use;
  return device;
}

// The physical number that an item of CUDA_VISIBLE_DEVICES names; -1: none.
int VisibleDevice(std::string_view item) {
  const int count = static_cast<int>(config().memory.size());
  int number = -1;
  const auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), number);
  if (error == std::errc() && end == item.data() + item.size()) return number < count ? number : -1;
  for (int i = 0; item.starts_with("GPU-") && i < count; ++i) {
    if (MakeDevice(i)->UuidText().starts_with(item)) return i;
  }
  return -1;
}

// Devices after the first bad item of the list are invisible, as the programming guide says.
std::vector<int> VisibleDevices() {
  std::vector<int> visible;
  const char* list = getenv("CUDA_VISIBLE_DEVICES");
  if (list == nullptr) {
    for (size_t i = 0; i < config().memory.size(); ++i) visible.push_back(static_cast<int>(i));
    return visible;
  }
  std::string_view rest = list;
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    const int physical = VisibleDevice(rest.substr(0, comma));
    if (physical < 0) break;
    visible.push_back(physical);
    rest = comma == std::string_view::npos ? "" : rest.substr(comma + 1);
  }
  return visible;
}

void AddDevice(int physical) {
  Driver& driver = TheDriver();
  const int ordinal = static_cast<int>(driver.devices.size());
  auto device = MakeDevice(physical);
  device->ordinal = ordinal;
  device->memory = std::make_unique<PhysicalMemory>(BackingPath(physical));
  device->primary = std::make_shared<Context>();
  device->primary->device = ordinal;
  device->primary->primary = true;
  driver.contexts.Add(device->primary);
  CUmemPoolProps props = {};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location = {CU_MEM_LOCATION_TYPE_DEVICE, {ordinal}};
  device->default_pool = std::make_shared<Pool>(props, ordinal);
  device->default_pool->is_default = true;
  device->current_pool = device->default_pool;
  driver.pools.Add(device->default_pool);
  driver.devices.push_back(std::move(device));
}

}  // namespace

extern "C" {

CUresult gpusim_cuInit(unsigned flags) {
  const Guard guard;
  Driver& driver = TheDriver();
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (driver.inherited) return CUDA_ERROR_NOT_INITIALIZED;
  if (driver.initialized) return CUDA_SUCCESS;
  if (!config().error.empty()) {
    fprintf(stderr, "gpusim: %s\n", config().error.c_str());
    return CUDA_ERROR_INVALID_VALUE;
  }
  const std::vector<int> visible = VisibleDevices();
  if (visible.empty()) return CUDA_ERROR_NO_DEVICE;
  if (!JoinSession()) {
    fprintf(stderr, "gpusim: GPUSIM_SESSION=%s: cannot use this folder\n",
            config().session.c_str());
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (const int physical : visible) AddDevice(physical);
  StartLedgerDumps();
  driver.initialized = true;
  return CUDA_SUCCESS;
}

CUresult gpusim_cuDriverGetVersion(int* driverVersion) {
  if (driverVersion == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *driverVersion = config().driver_version;
  return CUDA_SUCCESS;
}

// Private tables between NVIDIA's libraries: there are none here.
CUresult gpusim_cuGetExportTable(const void** ppExportTable, const CUuuid*) {
  if (ppExportTable != nullptr) *ppExportTable = nullptr;
  return CUDA_ERROR_NOT_FOUND;
}

}  // extern "C"

}  // namespace gputrace::sim

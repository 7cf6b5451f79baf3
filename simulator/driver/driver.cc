// SPDX-License-Identifier: Apache-2.0
#include "simulator/driver/driver.h"

#include <pthread.h>

#include <new>

#include "simulator/driver/lifetime.h"

namespace gputrace::sim {
namespace {

// The child has one thread, and the lock may have been held by another when it was forked.
void MarkInherited() {
  Driver& driver = TheDriver();
  new (&driver.mutex) std::mutex;
  if (driver.initialized) driver.inherited = true;
}

}  // namespace

Driver& TheDriver() {
  static Driver* instance = [] {
    pthread_atfork(nullptr, nullptr, MarkInherited);
    return new Driver;
  }();
  return *instance;
}

CUresult FindDevice(CUdevice ordinal, Device** device) {
  const auto& devices = TheDriver().devices;
  if (ordinal < 0 || static_cast<size_t>(ordinal) >= devices.size())
    return CUDA_ERROR_INVALID_DEVICE;
  *device = devices[static_cast<size_t>(ordinal)].get();
  return CUDA_SUCCESS;
}

CUresult CheckUsable() {
  const Driver& driver = TheDriver();
  return driver.initialized && !driver.inherited ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

}  // namespace gputrace::sim

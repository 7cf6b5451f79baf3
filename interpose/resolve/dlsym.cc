// SPDX-License-Identifier: Apache-2.0
#include "interpose/resolve/dlsym.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdint>

#include "interpose/resolve/elf_lookup.h"
#include "interpose/resolve/wrappers.h"

namespace gputrace::interpose {
namespace {

using DlsymFunction = void* (*)(void*, const char*);
using DlvsymFunction = void* (*)(void*, const char*, const char*);

// The next provider after us in load order, so that another preload's override goes on working; in a
// process where we were loaded last, libc's.
void* FindReal(const char* name) {
  void* found = FindAfter(OwnObject(), name);
  return found != nullptr ? found : FindInLibc(name);
}

// dlsym(RTLD_NEXT) for a caller that is not this library: the objects after it, in load order.
void* FindAfterCaller(const char* symbol, const void* caller) {
  const link_map* object = ObjectOf(caller);
  void* found = object == nullptr ? nullptr : FindAfter(object, symbol);
  if (found == nullptr || ObjectOf(found) != OwnObject()) return found;
  // The caller comes before us: what it gets is our export, if there is something behind it.
  return FindNextGlobal(symbol) != nullptr ? found : nullptr;
}

bool IsFromDriver(const void* caller) {
  const link_map* driver = DriverObject();
  return driver != nullptr && ObjectOf(caller) == driver;
}

}  // namespace

// Read by the assembly.
extern "C" {
__attribute__((visibility("hidden"))) std::atomic<void*> gputrace_real_dlsym;
__attribute__((visibility("hidden"))) std::atomic<void*> gputrace_real_dlvsym;
}

namespace {

DlsymFunction RealDlsym() {
  void* real = gputrace_real_dlsym.load(std::memory_order_relaxed);
  if (real == nullptr) {
    real = FindReal("dlsym");
    gputrace_real_dlsym.store(real, std::memory_order_relaxed);
  }
  return reinterpret_cast<DlsymFunction>(real);
}

DlvsymFunction RealDlvsym() {
  void* real = gputrace_real_dlvsym.load(std::memory_order_relaxed);
  if (real == nullptr) {
    real = FindReal("dlvsym");
    gputrace_real_dlvsym.store(real, std::memory_order_relaxed);
  }
  return reinterpret_cast<DlvsymFunction>(real);
}

// What the caller's dlsym would have found. Handles other than RTLD_NEXT mean the same whoever asks.
void* Ask(void* handle, const char* symbol, const char* version, const void* caller) {
  // Our exports stand in the global scope whether or not there is a driver: a program that probes for
  // one must not take them for it.
  if (handle == RTLD_DEFAULT) return FindNextGlobal(symbol);
  if (handle == RTLD_NEXT) return FindAfterCaller(symbol, caller);
  return version == nullptr ? RealDlsym()(handle, symbol) : RealDlvsym()(handle, symbol, version);
}

}  // namespace

void* FindNextGlobal(const char* symbol) { return RealDlsym()(RTLD_NEXT, symbol); }

// The answer of the overrides: if `handled` is not set they jump on to the real function.
struct FilterAnswer {
  void* value;
  uint64_t handled;
};

extern "C" __attribute__((visibility("hidden"))) FilterAnswer gputrace_filter_dlsym(
    void* handle, const char* symbol, const char* version, const void* caller) {
  RealDlsym();
  RealDlvsym();
  constexpr FilterAnswer kNotOurs{nullptr, 0};
  if (symbol == nullptr || symbol[0] != 'c' || symbol[1] != 'u') return kNotOurs;
  const uint16_t id = FindWrapper(symbol);
  if (id == 0) return kNotOurs;
  // Drivers that look up their own functions (WSL's forwards so) must find those.
  if (IsFromDriver(caller)) return kNotOurs;
  void* real = Ask(handle, symbol, version, caller);
  // A null answer has set what dlerror says, but for RTLD_NEXT, which is left to the real function.
  if (real == nullptr && handle == RTLD_NEXT) return kNotOurs;
  // A handle of the whole program finds our export first; it counts only if a driver is behind it.
  if (real == kWrappers[id].exported && handle != RTLD_NEXT) real = FindNextGlobal(symbol);
  return {Wrap(id, real), 1};
}

}  // namespace gputrace::interpose

// SPDX-License-Identifier: Apache-2.0
#include "interpose/resolve/dlsym.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdint>

#include "interpose/resolve/coverage.h"
#include "interpose/resolve/elf_lookup.h"
#include "interpose/resolve/wrappers.h"

namespace gputrace::interpose {
namespace {

using DlsymFunction = void* (*)(void*, const char*);
using DlvsymFunction = void* (*)(void*, const char*, const char*);

// The next provider after us in load order, so that another preload's override goes on working; in
// a process where we were loaded last, libc's.
void* FindReal(const char* name) {
  void* found = FindAfter(OwnObject(), name);
  return found != nullptr ? found : FindInLibc(name);
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

void* WrapFound(uint16_t id, void* real) {
  if (real != nullptr) NoteWay(id, trace::CoverageWhat::kDlsym);
  return Wrap(id, real);
}

// The answer of the overrides: if `handled` is not set they jump on to the real function.
struct FilterAnswer {
  void* value;
  uint64_t handled;
};
constexpr FilterAnswer kNotOurs{nullptr, 0};

// An earlier failed look-up has left its message, and the program may ask for it after a success.
void ForgetError() {
  static std::atomic<void*> function{nullptr};
  void* found = function.load(std::memory_order_relaxed);
  if (found == nullptr) {
    found = FindInLibc("dlerror");
    function.store(found, std::memory_order_relaxed);
  }
  if (found != nullptr) reinterpret_cast<char* (*)()>(found)();
}

// Our exports stand in the global scope whether or not there is a driver: a program that probes for
// one must not take them for it. After the global scope comes the caller's own.
FilterAnswer FindDefault(uint16_t id, const char* symbol, const void* caller) {
  if (void* real = FindNextGlobal(symbol)) return {WrapFound(id, real), 1};
  const link_map* object = ObjectOf(caller);
  void* real = object == nullptr ? nullptr : FindInScopeOf(object, symbol);
  if (real == nullptr) return {nullptr, 1};
  ForgetError();
  return {WrapFound(id, real), 1};
}

// The objects after the caller's. If we are among them it gets our export, if there is anything
// behind.
FilterAnswer FindNext(uint16_t id, const char* symbol, const void* caller) {
  const link_map* object = ObjectOf(caller);
  void* real = object == nullptr ? nullptr : FindAfter(object, symbol);
  if (real == nullptr) return kNotOurs;
  if (real == kWrappers[id].exported)
    return {FindNextGlobal(symbol) != nullptr ? real : nullptr, 1};
  return {WrapFound(id, real), 1};
}

// A handle means the same whoever asks, so that the real function can be called.
FilterAnswer FindByHandle(uint16_t id, void* handle, const char* symbol, const char* version) {
  void* real =
      version == nullptr ? RealDlsym()(handle, symbol) : RealDlvsym()(handle, symbol, version);
  // The handle of the whole program finds our export first.
  if (real == kWrappers[id].exported) real = FindNextGlobal(symbol);
  return {WrapFound(id, real), 1};
}

// Entries that are passed through are not looked at, but for those whose calls will be missed.
void NoteUnwrapped(void* handle, const char* symbol) {
  trace::CoverageWhat what;
  if (!IsMissedEntry(symbol, &what) || handle == RTLD_DEFAULT || handle == RTLD_NEXT) return;
  if (RealDlsym()(handle, symbol) != nullptr) NoteCoverage(what, symbol);
}

}  // namespace

void* FindNextGlobal(const char* symbol) { return RealDlsym()(RTLD_NEXT, symbol); }

extern "C" __attribute__((visibility("hidden"))) FilterAnswer gputrace_filter_dlsym(
    void* handle, const char* symbol, const char* version, const void* caller) {
  RealDlsym();
  RealDlvsym();
  if (symbol == nullptr || symbol[0] != 'c' || symbol[1] != 'u') return kNotOurs;
  const uint16_t id = FindWrapper(symbol);
  if (id == 0) {
    NoteUnwrapped(handle, symbol);
    return kNotOurs;
  }
  // Drivers that look up their own functions (WSL's forwards so) must find those.
  if (IsFromDriver(caller)) return kNotOurs;
  if (handle == RTLD_DEFAULT) return FindDefault(id, symbol, caller);
  if (handle == RTLD_NEXT) return FindNext(id, symbol, caller);
  return FindByHandle(id, handle, symbol, version);
}

}  // namespace gputrace::interpose

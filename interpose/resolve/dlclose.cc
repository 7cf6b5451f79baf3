// SPDX-License-Identifier: Apache-2.0
// The override of dlclose: what was remembered of code must not outlive it (stacks/code_map.h). It
// is no more than that; libc does not mind who calls dlclose.
#include <atomic>
#include <cerrno>

#include "interpose/resolve/elf_lookup.h"
#include "interpose/stacks/code_map.h"

namespace gputrace::interpose {
namespace {

using DlcloseFunction = int (*)(void*);

// The next provider after us in load order, so that another preload's override goes on working.
DlcloseFunction RealDlclose() {
  static std::atomic<void*> function{nullptr};
  void* found = function.load(std::memory_order_relaxed);
  if (found == nullptr) {
    found = FindAfter(OwnObject(), "dlclose");
    if (found == nullptr) found = FindInLibc("dlclose");
    function.store(found, std::memory_order_relaxed);
  }
  return reinterpret_cast<DlcloseFunction>(found);
}

}  // namespace
}  // namespace gputrace::interpose

extern "C" __attribute__((visibility("default"))) int dlclose(void* handle) {
  using namespace gputrace::interpose;
  const DlcloseFunction real = RealDlclose();
  if (real == nullptr) return -1;  // then nobody can have opened anything
  BeginUnloading();
  const int result = real(handle);
  const int saved_errno = errno;
  EndUnloading();
  errno = saved_errno;
  return result;
}

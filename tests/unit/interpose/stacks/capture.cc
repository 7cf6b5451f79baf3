// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/interpose/stacks/capture.h"

#include <dlfcn.h>

#include "interpose/record/sys.h"
#include "interpose/stacks/code_map.h"
#include "interpose/stacks/unwinder.h"

namespace gputrace::interpose {
namespace {

void* FindObject() { return dlsym(RTLD_DEFAULT, "_dl_find_object"); }

// Zeroed, as the recorder makes it.
struct Owner {
  ~Owner() {
    if (unwinder == nullptr) return;
    unwinder->Release();
    sys::Unmap(unwinder, sizeof(Unwinder));
  }
  Unwinder* Get() {
    if (unwinder != nullptr) return unwinder;
    static const bool first = (UseFindObject(FindObject()), true);
    (void)first;
    unwinder = static_cast<Unwinder*>(sys::MapPrivate(sizeof(Unwinder)));
    return unwinder;
  }
  Unwinder* unwinder = nullptr;
};
thread_local Owner t_owner;

}  // namespace

bool Capture(CapturedStack* stack, uint32_t max_depth) {
  Unwinder* unwinder = t_owner.Get();
  const FrameState caller = CallerOf(__builtin_frame_address(0));
  return unwinder->Recognize(caller, max_depth, stack) ||
         unwinder->Capture(caller, max_depth, stack);
}

void ForgetNames() { t_owner.Get()->ForgetNames(); }

void UseFindObject(bool use) {
  t_owner.Get();
  UseFindObject(use ? FindObject() : nullptr);
}

void UnloadObject(void* handle) {
  BeginUnloading();
  dlclose(handle);
  EndUnloading();
}

}  // namespace gputrace::interpose

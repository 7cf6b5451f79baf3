// SPDX-License-Identifier: Apache-2.0
// Which loaded object an address of code belongs to, and whether what was learnt about addresses
// still holds.
//
// Once code has been unloaded, other code may come to stand at its addresses. Everything that is
// remembered about addresses therefore belongs to a code state: it may be used while CodeState()
// returns the same value, and nothing may be remembered while IsUnloading() is true of it. The
// state changes when dlclose (which this library overrides) removes an object. A thread that runs
// code which was loaded later sees the change: the loader's lock orders the two. An object that is
// unloaded by other ways (a library that was loaded with RTLD_DEEPBIND calls libc's own dlclose) is
// noticed by the loader's counters at the next address or stack that is new.
#ifndef GPUTRACE_INTERPOSE_STACKS_CODE_MAP_H_
#define GPUTRACE_INTERPOSE_STACKS_CODE_MAP_H_

#include <atomic>
#include <cstdint>

#include "interpose/stacks/cfi.h"

namespace gputrace::interpose {

// The number of changes in the upper part, calls of dlclose that are under way in the lower.
extern std::atomic<uint64_t> g_code_state __attribute__((visibility("hidden")));

inline uint64_t CodeState() { return g_code_state.load(std::memory_order_relaxed); }
inline bool IsUnloading(uint64_t state) { return (state & 0xffff) != 0; }
// Tells apart stacks of the same addresses before and after a change.
inline uint64_t CodeChanges(uint64_t state) { return state >> 16; }

// To be called around everything that may unload objects.
void BeginUnloading();
void EndUnloading();

// Finds the object that `address` belongs to; false if it is none's. Without _dl_find_object this
// takes the loader's lock, and looks at the loader's counters: the code state may be another
// afterwards.
bool FindCodeModule(uint64_t address, CodeModule* module);

// The loader's function _dl_find_object (glibc 2.35 and later), or null. It takes no lock: also not
// one that a fork has left locked.
void UseFindObject(void* function);

// Looks at the loader's counters only. Takes the loader's lock.
void CheckForUnloading();

}  // namespace gputrace::interpose

#endif  // GPUTRACE_INTERPOSE_STACKS_CODE_MAP_H_

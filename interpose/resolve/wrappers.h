// SPDX-License-Identifier: Apache-2.0
// The wrappers of the driver's entries, and how a caller is given one.
//
// Each entry has an exported thunk, for programs that are linked to the driver, and some bound ones. A
// bound thunk stands for one pointer that a resolver has returned and forwards to just that: so the
// chain of other interposers, which may differ from caller to caller, stays as it was.
#ifndef GPUTRACE_INTERPOSE_RESOLVE_WRAPPERS_H_
#define GPUTRACE_INTERPOSE_RESOLVE_WRAPPERS_H_

#include <atomic>
#include <cstdint>

namespace gputrace::interpose {

inline constexpr int kBoundThunks = 4;

struct Wrapper {
  const char* symbol;
  const void* exported;
  const void* bound[kBoundThunks];
};

// Indexed by id from 1, sorted by symbol as bytes but for the resolvers at the end. Ids up to
// kEntryCount are those of kEntries.
extern const Wrapper kWrappers[];
extern const uint16_t kWrapperCount;
extern std::atomic<const void*> g_bound[][kBoundThunks];
extern std::atomic<const void*> g_exported[];

// The id of the entry with exactly this symbol, or 0.
uint16_t FindWrapper(const char* symbol);

// What to hand out in place of `real`: a thunk that forwards to it, or `real` itself if it is one of
// ours already, or if all bound thunks of the entry are taken (counted). Lock-free.
void* Wrap(uint16_t id, void* real);

// Where the exported thunk forwards to: the next provider of the symbol after this library. Never
// null: without a driver it is a function that answers CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND.
const void* ExportedNext(uint16_t id);

// The answer to cuGetProcAddress for `base`: routed by the pointer that the driver returned, which may
// be an exported function or not.
void* WrapResolved(const char* base, int version, uint64_t flags, void* real);

// What the resolvers could not wrap, for the trace's coverage notes.
struct Coverage {
  std::atomic<uint32_t> unwrapped;  // pointers handed out unwrapped for lack of a thunk
  std::atomic<uint32_t> unknown_count;
  static constexpr uint32_t kMaxUnknown = 32;
  char unknown[kMaxUnknown][64];  // names like cuMem… that the table does not know
};
extern Coverage g_coverage;

}  // namespace gputrace::interpose

#endif  // GPUTRACE_INTERPOSE_RESOLVE_WRAPPERS_H_

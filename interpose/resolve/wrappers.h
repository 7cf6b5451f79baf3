// SPDX-License-Identifier: Apache-2.0
// The wrappers of the driver's entries, and how a caller is given one.
//
// Each entry has an exported thunk, for programs that are linked to the driver, and some bound
// ones. A bound thunk stands for one pointer that a resolver has returned and forwards to just
// that: so the chain of other interposers, which may differ from caller to caller, stays as it was.
#ifndef GPUTRACE_INTERPOSE_RESOLVE_WRAPPERS_H_
#define GPUTRACE_INTERPOSE_RESOLVE_WRAPPERS_H_

#include <cuda.h>

#include <atomic>
#include <cstdint>

#include "trace/format.h"

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

// What to hand out in place of `real`: a thunk that forwards to it, or `real` itself if it is one
// of ours already, or if all bound thunks of the entry are taken (noted). Lock-free.
void* Wrap(uint16_t id, void* real);

// Where the exported thunk forwards to: the next provider of the symbol after this library. Null
// without a driver: then nothing must be recorded, since nothing of CUDA is in the process.
const void* FindExportedNext(uint16_t id);
inline const void* ExportedNext(uint16_t id) {
  const void* next = g_exported[id].load(std::memory_order_relaxed);
  return next != nullptr ? next : FindExportedNext(id);
}

// What cuGetProcAddress was asked and has answered.
struct Resolution {
  const char* name;
  int version;
  uint64_t flags;
  void* real;
};

// The two resolvers; a later driver has both, an older one the first alone.
using GetProcAddressV1 = CUresult (*)(const char*, void**, int, cuuint64_t);
using GetProcAddressV2 = CUresult (*)(const char*, void**, int, cuuint64_t,
                                      CUdriverProcAddressQueryResult*);

// What to answer in place of resolution.real. Routed by that pointer: it says which function of the
// driver it is, whatever was asked. Only where the driver answers with other pointers than those it
// exports, name and version decide; `resolver` is asked again if the version is newer than the
// table.
void* WrapResolved(const Resolution& resolution, GetProcAddressV1 resolver);
void* WrapResolved(const Resolution& resolution, GetProcAddressV2 resolver);

// How many entries (names that begin with "cu") the loaded driver exports, and how many of them the
// table does not know. Those that look like memory are noted one by one.
struct DriverExports {
  uint32_t all;
  uint32_t unknown;
};
DriverExports CountDriverExports();

// Whether calls of an entry that has no wrapper will be missed: one whose name is that of memory
// and that the table does not know, or an old version that it knows and does not trace.
bool IsMissedEntry(const char* symbol, trace::CoverageWhat* what);

}  // namespace gputrace::interpose

#endif  // GPUTRACE_INTERPOSE_RESOLVE_WRAPPERS_H_

// SPDX-License-Identifier: Apache-2.0
// What happens on every call into the stand-in, whatever the entry.
#ifndef GPUTRACE_SIMULATOR_DRIVER_ENTRY_H_
#define GPUTRACE_SIMULATOR_DRIVER_ENTRY_H_

#include <atomic>
#include <cstdint>

#include "simulator/driver/cuda_api.h"

namespace gputrace::sim {

enum class StreamKind : uint8_t { kPlain, kPerThread };

struct Entry {
  const char* symbol;  // of the ELF file: cuMemAllocAsync_ptsz
  const char* base;    // what cuGetProcAddress is asked for: cuMemAllocAsync
  int since;           // the version from which cuGetProcAddress answers it
  StreamKind stream_kind;
  bool before_init;  // may be called before cuInit
  void* address;     // the exported function
  void* twin;        // another function that does the same
};

// Generated, sorted by base, then since.
extern const Entry kEntries[];
extern const unsigned kEntryCount;
extern std::atomic<uint64_t> g_calls[];

// Asked for `base` in version `since` or newer, cuGetProcAddress answers what `instead` names:
// macros of the header have changed their meaning.
struct Renamed {
  const char* base;
  int since;
  const char* instead;
};
extern const Renamed kRenamed[];
extern const unsigned kRenamedCount;

// One lives for the length of each call: it counts the call, decides whether the driver refuses it
// before it looks at the arguments (not initialised, a failure that GPUSIM_FAIL asks for), and
// remembers the entry for the journal and for the meaning of stream 0.
class EntryCall {
 public:
  explicit EntryCall(unsigned index);
  ~EntryCall();
  EntryCall(const EntryCall&) = delete;
  EntryCall& operator=(const EntryCall&) = delete;

  bool refused() const { return refusal_ != CUDA_SUCCESS; }
  CUresult refusal() const { return refusal_; }

 private:
  const Entry* outer_;
  CUresult refusal_;
};

// Lives while the calling thread runs a host function of the program's: that may make no calls.
class HostFunctionScope {
 public:
  HostFunctionScope();
  ~HostFunctionScope();
  HostFunctionScope(const HostFunctionScope&) = delete;
  HostFunctionScope& operator=(const HostFunctionScope&) = delete;
};

// The entry that the calling thread is in. Never null inside a body, except in threads of our own.
const Entry* CurrentEntry();
// Its symbol, for the journal.
const char* CurrentSymbol();

}  // namespace gputrace::sim

#endif  // GPUTRACE_SIMULATOR_DRIVER_ENTRY_H_

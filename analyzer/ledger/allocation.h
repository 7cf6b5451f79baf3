// SPDX-License-Identifier: Apache-2.0
// An object that the driver holds for the program: a piece of memory, or a handle.
#ifndef GPUTRACE_ANALYZER_LEDGER_ALLOCATION_H_
#define GPUTRACE_ANALYZER_LEDGER_ALLOCATION_H_

#include <cstdint>

#include "analyzer/ledger/account.h"
#include "trace/format.h"

namespace gputrace::ledger {

inline constexpr int32_t kHost = -1;  // in place of a device: host memory, or no device

struct Allocation {
  uint64_t id = 0;         // 1, 2, 3, … in order of birth; unique in its process
  uint64_t address = 0;    // or the handle
  uint64_t bytes = 0;      // as requested (pitched: pitch times height; arrays: as the driver says)
  int64_t time_ns = 0;     // of birth
  uint32_t process = 0;    // position in the job
  uint32_t site = 0;       // where it was made (analyzer/ledger/site_table.h)
  uint32_t thread = 0;     // dictionary id of the process
  uint32_t slot = 0;       // dense and reused: stays the same while the allocation lives
  int32_t device = kHost;  // position in the job's devices
  uint32_t context = 0;    // position in the ledger's contexts + 1; 0 if none
  uint16_t entry = 0;      // descriptor of the call that made it
  trace::ObjectKind kind = trace::ObjectKind::kDevice;
  Account account = Account::kDevice;
  bool live = false;
  uint8_t flags = 0;        // trace::RecordFlags of the record that made it
  uint32_t references = 1;  // handles of VMM memory, openings of an import, retains of a context
  uint32_t mappings = 0;    // of VMM memory
  uint32_t bindings = 0;    // … to multicast objects
  uint64_t pool = 0;        // handle of the pool a block is from; 0 if unknown
  uint64_t stream = 0;      // handle of the stream in whose order a block was allocated
  bool primary = false;     // of a context: a device's primary one
  uint64_t launches = 0;    // of an executable graph
  uint32_t origin = 0;      // of memory shared by another process: position in its shares + 1
};

enum class FreeCause : uint8_t {
  kCall,
  kContextEnd,  // implicitly, with its context
  kUnseen,      // its address came into being again: the free was not recorded
  kNeverWas,    // it turned out not to have come into being
};

}  // namespace gputrace::ledger

#endif  // GPUTRACE_ANALYZER_LEDGER_ALLOCATION_H_

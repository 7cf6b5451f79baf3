// SPDX-License-Identifier: Apache-2.0
// The stand-in's own account of what changed: a journal of changes and a dump of what is live.
#ifndef GPUTRACE_SIMULATOR_DRIVER_JOURNAL_H_
#define GPUTRACE_SIMULATOR_DRIVER_JOURNAL_H_

#include <cstddef>
#include <cstdint>

namespace gputrace::sim {

struct Change {
  const char* call = "";  // symbol of the entry that made it
  char delta = '+';       // '+' or '-'
  const char* kind = "";
  uint64_t address = 0;
  size_t size = 0;
  int device = -1;
  uint64_t context = 0;
  uint64_t pool = 0;
  uint64_t handle = 0;
};
// One numbered line, written before the lock is released: it survives kill -9. No-op without
// GPUSIM_JOURNAL.
void NoteChange(const Change& change);

// Writes GPUSIM_LEDGER; no-op without it.
void DumpLedger();
// At exit and on SIGUSR2, if a ledger is wanted. To be called once.
void ArrangeLedgerDumps();

}  // namespace gputrace::sim

#endif  // GPUTRACE_SIMULATOR_DRIVER_JOURNAL_H_

// SPDX-License-Identifier: Apache-2.0
// The stand-in's own account: what is alive, and a journal of what changed. Written in the words of
// simulator/README.md; shares nothing with the tracer's or the analyzer's.
#ifndef GPUTRACE_SIMULATOR_DRIVER_LEDGER_H_
#define GPUTRACE_SIMULATOR_DRIVER_LEDGER_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace gputrace::sim {

struct LedgerEntry {
  const char* kind;      // "device", "pool", …
  uint64_t address = 0;  // 0: it has none
  uint64_t size = 0;     // as it was asked for, in bytes
  int device = -1;       // -1: host
  uint64_t context = 0;  // 0: it belongs to none
  uint64_t pool = 0;
  uint64_t handle = 0;
};

// Not thread-safe: used under the driver's lock, so that the numbers of the journal are the order
// in which the driver's state changed.
class Ledger {
 public:
  // What is alive is known by its kind and its address, or its handle where it has no address.
  void Add(const LedgerEntry& entry);
  void Remove(const char* kind, uint64_t address_or_handle);

  // As an array of JSON objects.
  std::string LiveJson() const;

 private:
  void Journal(const LedgerEntry& entry, char delta);

  std::map<std::pair<std::string, uint64_t>, LedgerEntry> live_;
  uint64_t number_ = 0;
  int journal_ = -1;
};

// Writes GPUSIM_LEDGER from now on at exit and on SIGUSR2. Does nothing without that variable.
void StartLedgerDumps();

}  // namespace gputrace::sim

#endif  // GPUTRACE_SIMULATOR_DRIVER_LEDGER_H_

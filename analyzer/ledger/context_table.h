// SPDX-License-Identifier: Apache-2.0
// The contexts of one process: which device they are on, and how many hold them.
#ifndef GPUTRACE_ANALYZER_LEDGER_CONTEXT_TABLE_H_
#define GPUTRACE_ANALYZER_LEDGER_CONTEXT_TABLE_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "analyzer/ledger/allocation.h"

namespace gputrace::ledger {

// A context as a trace's dictionary defines it.
struct ContextInfo {
  uint64_t handle = 0;
  int32_t device = kHost;  // position in the job's devices
};

struct ContextState {
  uint64_t handle = 0;
  int32_t device = kHost;
  bool primary = false;
  bool alive = false;
  uint32_t references = 0;
};

// Contexts are numbered from 1 in the order in which they were met; 0 is none.
class ContextTable {
 public:
  // `known` by dictionary id - 1.
  explicit ContextTable(std::vector<ContextInfo> known) : known_(std::move(known)) {}

  // The context a record names by dictionary id. One whose creation was not seen is taken to be the
  // primary context of its device.
  uint32_t OfDictionary(uint32_t id);
  uint32_t OfHandle(uint64_t handle);  // 0 if it was never met
  // The primary context of a device, which may not have been met: then it has no handle yet.
  uint32_t Primary(int32_t device);

  // A context came into being. Its handle may have been another context's before.
  uint32_t Create(uint64_t handle, int32_t device);
  // A device's primary context is known by `handle`.
  uint32_t NamePrimary(uint64_t handle, int32_t device);
  // Memory allocated while `handle` is current belongs to the device's primary context: the handle
  // stands for a green context.
  void NameGreen(uint64_t handle, uint64_t green);
  void CreateGreen(uint64_t green, int32_t device) { green_devices_[green] = device; }
  // Whether a context that a record names by dictionary id stands for a green one.
  bool IsGreen(uint32_t id) const {
    return id != 0 && id <= known_.size() && greens_.contains(known_[id - 1].handle);
  }
  // The primary context that a green context holds, 0 if unknown.
  uint32_t PrimaryOfGreen(uint64_t green);

  ContextState& operator[](uint32_t context) { return states_[context - 1]; }

 private:
  void SetHandle(uint64_t handle, uint32_t context);

  std::vector<ContextInfo> known_;
  std::vector<ContextState> states_;
  std::vector<uint32_t>
      of_dictionary_;  // cache of OfDictionary; cleared when a handle changes hands
  absl::flat_hash_map<uint64_t, uint32_t> of_handle_;
  absl::flat_hash_map<int32_t, uint32_t> primaries_;
  absl::flat_hash_map<uint64_t, int32_t> green_devices_;
  absl::flat_hash_set<uint64_t> greens_;  // handles of contexts that stand for green ones
};

}  // namespace gputrace::ledger

#endif  // GPUTRACE_ANALYZER_LEDGER_CONTEXT_TABLE_H_

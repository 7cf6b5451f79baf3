// SPDX-License-Identifier: Apache-2.0
// Memory that processes of a job hand to each other, by the handle that travels between them.
#ifndef GPUTRACE_ANALYZER_LEDGER_SHARE_TABLE_H_
#define GPUTRACE_ANALYZER_LEDGER_SHARE_TABLE_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analyzer/ledger/allocation.h"

namespace gputrace::ledger {

// What was exported stays known after its owner has freed it: that is when an import that is still
// open matters.
class ShareTable {
 public:
  void Export(uint64_t handle, const Allocation& memory) {
    by_handle_[handle] = static_cast<uint32_t>(exported_.size());
    exported_.push_back(memory);
  }
  // Position + 1 of what the handle stands for; 0 if that was not seen being exported.
  uint32_t Find(uint64_t handle) const {
    const auto found = by_handle_.find(handle);
    return found == by_handle_.end() ? 0 : found->second + 1;
  }
  // As it was when it was exported. `origin` is not 0.
  const Allocation& operator[](uint32_t origin) const { return exported_[origin - 1]; }

 private:
  std::vector<Allocation> exported_;
  absl::flat_hash_map<uint64_t, uint32_t> by_handle_;
};

}  // namespace gputrace::ledger

#endif  // GPUTRACE_ANALYZER_LEDGER_SHARE_TABLE_H_

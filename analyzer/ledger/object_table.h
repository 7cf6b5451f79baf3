// SPDX-License-Identifier: Apache-2.0
// The objects that are live in one process, found by address or handle.
#ifndef GPUTRACE_ANALYZER_LEDGER_OBJECT_TABLE_H_
#define GPUTRACE_ANALYZER_LEDGER_OBJECT_TABLE_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analyzer/ledger/allocation.h"

namespace gputrace::ledger {

// Memory: that of the objects which are live at the same time. Pointers into the table hold until
// the next Insert.
class ObjectTable {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  // Whether objects of a kind are found by address, in the one space that device and host pointers
  // share. Others are found by kind and handle.
  static bool IsPointer(trace::ObjectKind kind);

  // Makes it live in a free slot, and findable by its address or handle.
  Allocation& Insert(const Allocation& allocation);
  // Makes it findable no longer; it stays live.
  void Hide(const Allocation& allocation);
  // Makes it findable again.
  void Show(const Allocation& allocation);
  // Ends it. Hides it if that has not been done.
  void Remove(const Allocation& allocation);

  Allocation* FindPointer(uint64_t address);
  Allocation* FindHandle(trace::ObjectKind kind, uint64_t handle);
  Allocation* Find(trace::ObjectKind kind, uint64_t key) {
    return IsPointer(kind) ? FindPointer(key) : FindHandle(kind, key);
  }
  Allocation* At(uint32_t slot) { return &slots_[slot]; }

  const std::vector<Allocation>& slots() const {
    return slots_;
  }  // those that are not `live` are free
  size_t live() const { return slots_.size() - free_slots_.size(); }

 private:
  using HandleKey = std::pair<uint8_t, uint64_t>;

  std::vector<Allocation> slots_;
  std::vector<uint32_t> free_slots_;
  absl::flat_hash_map<uint64_t, uint32_t> pointers_;
  absl::flat_hash_map<HandleKey, uint32_t> handles_;
};

}  // namespace gputrace::ledger

#endif  // GPUTRACE_ANALYZER_LEDGER_OBJECT_TABLE_H_

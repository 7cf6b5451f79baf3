// SPDX-License-Identifier: Apache-2.0
// Maps 64-bit hashes to dense ids, in memory of its own that grows up to a limit. For the writer,
// which must not use the program's allocator.
#ifndef GPUTRACE_INTERPOSE_RECORD_HASH_IDS_H_
#define GPUTRACE_INTERPOSE_RECORD_HASH_IDS_H_

#include <cstddef>
#include <cstdint>

#include "interpose/record/sys.h"

namespace gputrace::interpose {

// Zero-initialised memory is an empty map. Hash 0 stands for nothing and has id 0. Not thread-safe.
class HashIds {
 public:
  // 2^20 ids in 2^21 slots of 16 bytes: 32 MiB at most.
  static constexpr uint32_t kMaxIds = 1u << 20;

  // The id of `hash`. If it is new, it gets the next id and *is_new is set; 0 if there is no room.
  uint32_t FindOrAdd(uint64_t hash, bool* is_new) {
    *is_new = false;
    if (hash == 0) return 0;
    if (2 * (count_ + 1) > slot_count_ && !Grow()) return FindOnly(hash);
    Slot* slot = Locate(slots_, slot_count_, hash);
    if (slot->hash == 0) {
      if (count_ == kMaxIds) return 0;
      *is_new = true;
      *slot = {hash, ++count_};
    }
    return slot->id;
  }
  // Undoes the FindOrAdd that just added `hash`. Returns false, for the use in conditions.
  bool TakeBack(uint64_t hash) {
    *Locate(slots_, slot_count_, hash) = {};
    --count_;
    return false;
  }
  uint32_t Find(uint64_t hash) const { return hash == 0 ? 0 : FindOnly(hash); }
  uint32_t count() const { return count_; }

 private:
  struct Slot {
    uint64_t hash;
    uint32_t id;
  };
  static constexpr uint32_t kFirstSlots = 1u << 10;

  static Slot* Locate(Slot* slots, uint32_t slot_count, uint64_t hash) {
    uint32_t i = static_cast<uint32_t>(hash ^ (hash >> 32)) & (slot_count - 1);
    while (slots[i].hash != 0 && slots[i].hash != hash) i = (i + 1) & (slot_count - 1);
    return &slots[i];
  }
  uint32_t FindOnly(uint64_t hash) const {
    return slot_count_ == 0 ? 0 : Locate(slots_, slot_count_, hash)->id;
  }
  bool Grow() {
    const uint32_t wanted = slot_count_ == 0 ? kFirstSlots : 2 * slot_count_;
    if (wanted > 2 * kMaxIds) return false;
    auto* slots = static_cast<Slot*>(sys::MapPrivate(wanted * sizeof(Slot)));
    if (slots == nullptr) return false;
    for (uint32_t i = 0; i < slot_count_; ++i) {
      if (slots_[i].hash != 0) *Locate(slots, wanted, slots_[i].hash) = slots_[i];
    }
    if (slots_ != nullptr) sys::Unmap(slots_, slot_count_ * sizeof(Slot));
    slots_ = slots;
    slot_count_ = wanted;
    return true;
  }

  Slot* slots_;
  uint32_t slot_count_;
  uint32_t count_;
};

}  // namespace gputrace::interpose

#endif  // GPUTRACE_INTERPOSE_RECORD_HASH_IDS_H_

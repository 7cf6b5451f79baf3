// SPDX-License-Identifier: Apache-2.0
// Stacks that a thread has captured before, recognised without unwinding.
//
// To unwind a stack is to read some words of it (return addresses, saved frame pointers) at places
// that follow from the words read before. So if the walk begins in the same state and all words
// that it read before are the same, it is the same stack: not probably, but by induction over the
// frames. The memo keeps the words and where they were. It compares from the inside outwards and
// stops at the first difference: each word that it reads is one that unwinding would read.
#ifndef GPUTRACE_INTERPOSE_STACKS_STACK_MEMO_H_
#define GPUTRACE_INTERPOSE_STACKS_STACK_MEMO_H_

#include <cstddef>
#include <cstdint>

#include "interpose/stacks/frame_rule.h"
#include "interpose/stacks/stack_bounds.h"
#include "trace/format.h"

namespace gputrace::interpose {

// A stack that is in the memo.
struct KnownStack {
  uint64_t hash;
  FrameState start;    // its bp only if reads_bp
  uint32_t period;     // of the memo
  uint32_t naming;     // for the memo's user
  uint32_t extent;     // bytes from start.sp to the end of the last word
  uint16_t max_depth;  // that was asked for
  uint16_t word_count;
  bool reads_bp;
  bool truncated;
  uint64_t words[];  // StackMemo::PackWord
};

// Collects the words that a walk has read, from the inside outwards.
class WordList {
 public:
  void Start(uint64_t sp) {
    at_ = sp;
    count_ = 0;
    ok_ = true;
  }
  void Add(uint64_t address, uint64_t value) {
    const uint64_t distance = (address - at_) / 8;
    if (count_ == kMax || distance > kMaxDistance || value >> kValueBits != 0) {
      ok_ = false;
      return;
    }
    words_[count_++] = distance << kValueBits | value;
    at_ = address;
  }
  bool ok() const { return ok_; }
  uint32_t count() const { return count_; }
  const uint64_t* words() const { return words_; }
  uint64_t end() const { return at_ + 8; }

  // A word is packed into 64 bits: its value, which must be an address of a program, and how many
  // words after the one before it is.
  static constexpr uint32_t kValueBits = 47;
  static constexpr uint64_t kValueMask = (uint64_t{1} << kValueBits) - 1;
  static constexpr uint64_t kMaxDistance = (uint64_t{1} << (64 - kValueBits)) - 1;

 private:
  static constexpr uint32_t kMax = 3 * trace::kMaxStackDepth;

  uint64_t at_;
  uint32_t count_;
  bool ok_;
  uint64_t words_[kMax];
};

// Zeroed memory is an empty memo. One thread's own. Bounded: old stacks make room for new ones.
class StackMemo {
 public:
  // The stack that a walk from `start` would find, or null if it is not known. The bounds' current
  // stack must be that of start.sp.
  KnownStack* Find(const FrameState& start, uint32_t max_depth, const StackBounds& bounds);

  // Remembers what a walk from `start` has read. The returned entry has start, words, extent and
  // max_depth filled in, the rest zero. Null if there is no memory, or the stack is not worth it.
  KnownStack* Add(const FrameState& start, bool reads_bp, uint32_t max_depth,
                  const WordList& words);

  // Forgets all, at once.
  void Clear() {
    ++period_;
    cleared_at_ = end_;
  }

 private:
  static constexpr uint32_t kSetBits = 8;
  static constexpr uint32_t kWays = 8;
  static constexpr size_t kArenaBytes = 512u << 10;

  // Many stacks begin with the same pc and sp: two words further out tell most of them apart.
  struct Slot {
    uint32_t tag;       // of pc and sp; 0: unused
    uint32_t words;     // hash of the two words
    uint32_t at[2];     // where they are, in bytes from sp
    uint64_t position;  // in the arena's endless sequence of bytes
  };
  struct Set {
    Slot slots[kWays];
  };

  static uint64_t KeyOf(const FrameState& start) {
    uint64_t key = (start.pc ^ start.sp * 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu;
    key ^= key >> 32;
    return key * 0x9e3779b97f4a7c15u;
  }
  static uint32_t TagOf(uint64_t key) { return static_cast<uint32_t>(key) | 1; }
  static uint32_t SetOf(uint64_t key) { return static_cast<uint32_t>(key >> (64 - kSetBits)); }
  static uint32_t HashWords(uint64_t a, uint64_t b) {
    return static_cast<uint32_t>((a + b * 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu >> 32);
  }
  bool Holds(const KnownStack& known, const FrameState& start, uint32_t max_depth,
             const StackBounds& bounds) const;
  bool IsThere(uint64_t position) const { return end_ - position <= kArenaBytes; }

  uint32_t period_;
  uint32_t next_way_;
  uint32_t passed_over_;  // stacks that were not taken up since the last one that was
  uint8_t* arena_;
  uint64_t end_;         // of what has been written
  uint64_t cleared_at_;  // what end_ was then
  Set sets_[1u << kSetBits];
};

}  // namespace gputrace::interpose

#endif  // GPUTRACE_INTERPOSE_STACKS_STACK_MEMO_H_

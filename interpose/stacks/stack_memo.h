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

#include <bit>
#include <cstddef>
#include <cstdint>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "interpose/stacks/frame_rule.h"
#include "interpose/stacks/stack_bounds.h"
#include "trace/format.h"

namespace gputrace::interpose {

// A stack that is in the memo. Its outer words may be those of another entry, its root.
struct KnownStack {
  uint64_t hash;
  FrameState start;     // its bp only if reads_bp
  uint32_t period;      // of the memo
  uint32_t naming;      // for the memo's user
  uint32_t extent;      // bytes from start.sp to the end of the last word
  uint32_t position;    // in the memo
  uint32_t root;        // position, if root_first is not 0
  uint16_t root_first;  // the root's words from this one on follow those of this entry
  uint16_t max_depth;   // that was asked for
  uint16_t word_count;  // a multiple of 8: the last word is repeated
  uint16_t word_count_without_repetition;
  bool reads_bp;
  bool truncated;
  uint64_t values[];  // of the words; then uint32_t[word_count]: their bytes from start.sp

  const uint32_t* offsets() const { return reinterpret_cast<const uint32_t*>(values + word_count); }
};

// Collects the words that a walk has read, from the inside outwards.
class WordList {
 public:
  void Start(uint64_t sp) {
    sp_ = sp;
    count_ = 0;
    ok_ = true;
  }
  void Add(uint64_t address, uint64_t value) {
    const uint64_t offset = address - sp_;
    ok_ = ok_ && count_ < kMax && offset < kMaxExtent;
    if (!ok_) return;
    values_[count_] = value;
    offsets_[count_++] = static_cast<uint32_t>(offset);
  }
  bool ok() const { return ok_; }
  uint32_t count() const { return count_; }
  const uint64_t* values() const { return values_; }
  const uint32_t* offsets() const { return offsets_; }

 private:
  static constexpr uint32_t kMax = 3 * trace::kMaxStackDepth;
  static constexpr uint64_t kMaxExtent = 1u << 30;

  uint64_t sp_;
  uint32_t count_;
  bool ok_;
  uint64_t values_[kMax];
  uint32_t offsets_[kMax];
};

// Zeroed memory is an empty memo. One thread's own. Bounded: old stacks make room for new ones.
class StackMemo {
 public:
  // The stack that a walk from `start` would find, or null if it is not known. The bounds' current
  // stack must be that of start.sp.
  KnownStack* Find(const FrameState& start, uint32_t max_depth, const StackBounds& bounds);

  // Whether Add would take a stack up.
  bool Wants();

  // An entry whose last words are known to be the last ones of a new stack, too.
  struct Root {
    uint32_t position;
    uint32_t period;
    uint32_t words;  // 0: there is none
  };

  // Remembers what a walk from `start` has read. The returned entry has start, words, extent and
  // max_depth filled in, the rest zero. Null if there is no memory, or the stack is not worth it.
  // Sets *root to what another stack may share with this one.
  KnownStack* Add(const FrameState& start, bool reads_bp, uint32_t max_depth, const WordList& words,
                  Root* root);

  // Gives its memory back; the object may not be used afterwards.
  void Release();

  // Forgets all, at once.
  void Clear() {
    ++period_;
    cleared_at_ = end_;
  }

 private:
  static constexpr uint32_t kSetBits = 9;
  static constexpr uint32_t kWays = 8;
  static constexpr uint32_t kMaxSets = 8;  // that an entry may be in
  static constexpr uint64_t kPageBytes = 4096;
  static constexpr size_t kFirstArenaBytes = 64u << 10;
  static constexpr size_t kMaxArenaBytes = 4u << 20;
  static constexpr uint32_t kUnit = 8;  // bytes; positions are counted in these

  // Many stacks begin with the same pc and sp: two words further out tell most of them apart. They
  // are read without a look at those before them, so they must be in the page that sp points into.
  struct Sample {
    uint32_t hash;   // of the two words
    uint16_t at[2];  // where they are, in words from sp, the further one last; 0: there are none
  };
  struct alignas(64) Set {
    uint16_t tags[kWays];  // of pc and sp; 0: unused
    Sample samples[kWays];
    uint32_t positions[kWays];  // in the sequence of all that was written
    bool has_overflowed;        // what had no place here may be in the next set
  };

  static uint64_t KeyOf(const FrameState& start) {
    return (start.pc ^ start.sp << 16) * 0x9e3779b97f4a7c15u;
  }
  static uint16_t TagOf(uint64_t key) { return static_cast<uint16_t>(key >> 32) | 1; }
  static uint32_t SetOf(uint64_t key, uint32_t probe) {
    return (static_cast<uint32_t>(key >> (64 - kSetBits)) + probe) & ((1u << kSetBits) - 1);
  }
  static uint32_t HashWords(uint64_t a, uint64_t b) {
    return static_cast<uint32_t>((a + (b << 20)) * 0x9e3779b97f4a7c15u >> 32);
  }
  // A bit for each way whose tag is this.
  static uint32_t WaysWithTag(const Set& set, uint16_t tag);
  static Sample TakeSample(const FrameState& start, const WordList& words);
  bool Holds(const KnownStack& known, const FrameState& start, uint32_t max_depth,
             const StackBounds& bounds) const;
  static bool WordsHold(const KnownStack& known, uint32_t first);
  // Where an entry is, or null if others have been written over it.
  KnownStack* At(uint32_t position) const {
    const uint64_t start = uint64_t{position} * kUnit;
    if (end_ - start > capacity_) return nullptr;
    return reinterpret_cast<KnownStack*>(arena_ + (start & (capacity_ - 1)));
  }
  bool MakeRoom(size_t size);
  void Enter(const FrameState& start, const WordList& words, uint32_t position);
  static uint32_t FirstSharedWord(const KnownStack& root, uint32_t words);
  bool Grow();

  uint32_t period_;
  uint32_t next_way_;
  uint32_t passed_over_;  // stacks that were not taken up since the last one that was
  uint8_t* arena_;        // kMaxArenaBytes of address space
  size_t capacity_;       // bytes of it that are used: a power of two
  uint64_t end_;          // of all that was written, without wrapping
  uint64_t cleared_at_;   // what end_ was then
  Set sets_[1u << kSetBits];
};

// Inline, for the sake of the path that every event takes.

[[gnu::always_inline]] inline bool StackMemo::Holds(const KnownStack& known,
                                                    const FrameState& start, uint32_t max_depth,
                                                    const StackBounds& bounds) const {
  if (known.start.pc != start.pc || known.start.sp != start.sp || known.period != period_ ||
      known.max_depth != max_depth || (known.reads_bp && known.start.bp != start.bp) ||
      known.extent > bounds.high() - start.sp) {
    return false;
  }
  if (!WordsHold(known, 0)) return false;
  if (known.root_first == 0) return true;
  const KnownStack* root = At(known.root);
  return root != nullptr && root->period == period_ && WordsHold(*root, known.root_first);
}

[[gnu::always_inline]] inline bool StackMemo::WordsHold(const KnownStack& known, uint32_t first) {
  // Each is read only if all before it are what they were: else it may lie anywhere. Few rounds,
  // since their end is hard to foresee for a processor.
  const uint64_t sp = known.start.sp;
  const uint32_t* offset = known.offsets() + first;
  const uint64_t* const end = known.values + known.word_count;
  for (const uint64_t* value = known.values + first; value != end; value += 8, offset += 8) {
    if (ReadWord(sp + offset[0]) != value[0]) return false;
    if (ReadWord(sp + offset[1]) != value[1]) return false;
    if (ReadWord(sp + offset[2]) != value[2]) return false;
    if (ReadWord(sp + offset[3]) != value[3]) return false;
    if (ReadWord(sp + offset[4]) != value[4]) return false;
    if (ReadWord(sp + offset[5]) != value[5]) return false;
    if (ReadWord(sp + offset[6]) != value[6]) return false;
    if (ReadWord(sp + offset[7]) != value[7]) return false;
  }
  return true;
}

inline uint32_t StackMemo::WaysWithTag(const Set& set, uint16_t tag) {
#if defined(__SSE2__)
  static_assert(kWays == 8);
  const __m128i tags = _mm_load_si128(reinterpret_cast<const __m128i*>(set.tags));
  const __m128i same = _mm_cmpeq_epi16(tags, _mm_set1_epi16(static_cast<int16_t>(tag)));
  return static_cast<uint32_t>(_mm_movemask_epi8(_mm_packs_epi16(same, _mm_setzero_si128())));
#else
  uint32_t ways = 0;
  for (uint32_t i = 0; i < kWays; ++i) ways |= uint32_t{set.tags[i] == tag} << i;
  return ways;
#endif
}

[[gnu::always_inline]] inline KnownStack* StackMemo::Find(const FrameState& start,
                                                          uint32_t max_depth,
                                                          const StackBounds& bounds) {
  const uint64_t key = KeyOf(start);
  const uint64_t words_in_page = (kPageBytes - start.sp % kPageBytes) / 8;
  for (uint32_t probe = 0; probe < kMaxSets; ++probe) {
    const Set& set = sets_[SetOf(key, probe)];
    for (uint32_t ways = WaysWithTag(set, TagOf(key)); ways != 0; ways &= ways - 1) {
      const auto way = static_cast<uint32_t>(std::countr_zero(ways));
      const Sample& sample = set.samples[way];
      if (sample.at[1] >= words_in_page) continue;
      if (sample.at[1] != 0 && sample.hash != HashWords(ReadWord(start.sp + 8u * sample.at[0]),
                                                        ReadWord(start.sp + 8u * sample.at[1]))) {
        continue;
      }
      KnownStack* known = At(set.positions[way]);
      if (known != nullptr && Holds(*known, start, max_depth, bounds)) return known;
    }
    if (!set.has_overflowed) break;
  }
  return nullptr;
}

}  // namespace gputrace::interpose

#endif  // GPUTRACE_INTERPOSE_STACKS_STACK_MEMO_H_

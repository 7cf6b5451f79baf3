// SPDX-License-Identifier: Apache-2.0
#include "interpose/stacks/stack_memo.h"

#include <cstring>

#include "interpose/record/sys.h"

namespace gputrace::interpose {
namespace {

uint64_t ReadWord(uint64_t address) { return *reinterpret_cast<const uint64_t*>(address); }

}  // namespace

bool StackMemo::Holds(const KnownStack& known, const FrameState& start, uint32_t max_depth,
                      const StackBounds& bounds) const {
  if (known.start.pc != start.pc || known.start.sp != start.sp || known.period != period_ ||
      known.max_depth != max_depth || (known.reads_bp && known.start.bp != start.bp) ||
      known.extent > bounds.high() - start.sp) {
    return false;
  }
  uint64_t at = start.sp;
  const uint64_t* const end = known.words + known.word_count;
  for (const uint64_t* word = known.words; word != end; ++word) {
    at += *word >> WordList::kValueBits << 3;
    if (ReadWord(at) != (*word & WordList::kValueMask)) return false;
  }
  return true;
}

KnownStack* StackMemo::Find(const FrameState& start, uint32_t max_depth,
                            const StackBounds& bounds) {
  const uint64_t key = KeyOf(start);
  const uint32_t tag = TagOf(key);
  const uint64_t room = bounds.high() - start.sp;
  for (const Slot& slot : sets_[SetOf(key)].slots) {
    if (slot.tag != tag || slot.at[0] + 8 > room || slot.at[1] + 8 > room ||
        slot.words != HashWords(ReadWord(start.sp + slot.at[0]), ReadWord(start.sp + slot.at[1])) ||
        !IsThere(slot.position)) {
      continue;
    }
    auto* known = reinterpret_cast<KnownStack*>(arena_ + slot.position % kArenaBytes);
    if (Holds(*known, start, max_depth, bounds)) return known;
  }
  return nullptr;
}

KnownStack* StackMemo::Add(const FrameState& start, bool reads_bp, uint32_t max_depth,
                           const WordList& words) {
  if (!words.ok() || words.count() == 0 || words.end() - start.sp > UINT32_MAX) return nullptr;
  // Where more stacks take turns than there is room for, each would be forgotten just before it
  // comes again. So once room is short most are passed over: those that are there stay for long.
  constexpr uint32_t kPassOver = 7;
  const bool is_full = end_ - cleared_at_ >= kArenaBytes;
  if (is_full && passed_over_ < kPassOver) {
    ++passed_over_;
    return nullptr;
  }
  passed_over_ = 0;
  if (arena_ == nullptr) arena_ = static_cast<uint8_t*>(sys::MapPrivate(kArenaBytes));
  if (arena_ == nullptr) return nullptr;
  const size_t size = sizeof(KnownStack) + words.count() * sizeof(uint64_t);
  uint64_t position = end_;
  if (position % kArenaBytes + size > kArenaBytes) {
    position += kArenaBytes - position % kArenaBytes;  // entries are in one piece
  }
  end_ = position + size;
  auto* known = reinterpret_cast<KnownStack*>(arena_ + position % kArenaBytes);
  memset(static_cast<void*>(known), 0, sizeof(*known));
  known->start = start;
  known->reads_bp = reads_bp;
  known->period = period_;
  known->max_depth = static_cast<uint16_t>(max_depth);
  known->extent = static_cast<uint32_t>(words.end() - start.sp);
  known->word_count = static_cast<uint16_t>(words.count());
  memcpy(known->words, words.words(), words.count() * sizeof(uint64_t));

  // The words of the third and the sixth frame, or what there is.
  uint64_t at[2] = {0, 0};
  uint64_t sum = 0;
  for (uint32_t i = 0; i < words.count() && i < 6; ++i) {
    sum += words.words()[i] >> WordList::kValueBits << 3;
    if (i < 3) at[0] = sum;
    at[1] = sum;
  }
  const uint64_t key = KeyOf(start);
  const uint32_t tag = TagOf(key);
  Set& set = sets_[SetOf(key)];
  Slot* chosen = nullptr;
  for (Slot& slot : set.slots) {
    if (slot.tag == 0 || !IsThere(slot.position)) chosen = &slot;
  }
  if (chosen == nullptr) chosen = &set.slots[next_way_++ % kWays];
  *chosen = {tag,
             HashWords(ReadWord(start.sp + at[0]), ReadWord(start.sp + at[1])),
             {static_cast<uint32_t>(at[0]), static_cast<uint32_t>(at[1])},
             position};
  return known;
}

}  // namespace gputrace::interpose

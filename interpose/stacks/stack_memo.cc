// SPDX-License-Identifier: Apache-2.0
#include "interpose/stacks/stack_memo.h"

#include <cstring>

#include "interpose/record/sys.h"

namespace gputrace::interpose {
// The words of the third and the sixth frame, or what there is.
StackMemo::Sample StackMemo::TakeSample(const FrameState& start, const WordList& words) const {
  Sample sample{0, {0, 0}};
  for (uint32_t i = 0; i < words.count() && i < 6; ++i) {
    const uint32_t at = words.offsets()[i] / 8;
    if (at > UINT16_MAX) break;
    sample.at[i < 3 ? 0 : 1] = static_cast<uint16_t>(at);
  }
  if (sample.at[1] < sample.at[0]) sample.at[1] = sample.at[0];
  sample.hash = HashWords(ReadWord(start.sp + uint64_t{sample.at[0]} * 8),
                          ReadWord(start.sp + uint64_t{sample.at[1]} * 8));
  return sample;
}

KnownStack* StackMemo::Add(const FrameState& start, bool reads_bp, uint32_t max_depth,
                           const WordList& words) {
  if (!words.ok() || words.count() == 0) return nullptr;
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
  const uint32_t count = (words.count() + 7) & ~uint32_t{7};
  const size_t size = sizeof(KnownStack) + count * (sizeof(uint64_t) + sizeof(uint32_t));
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
  known->word_count = static_cast<uint16_t>(count);
  auto* offsets = const_cast<uint32_t*>(known->offsets());
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t from = i < words.count() ? i : words.count() - 1;
    known->values[i] = words.values()[from];
    offsets[i] = words.offsets()[from];
    if (offsets[i] + 8 > known->extent) known->extent = offsets[i] + 8;
  }

  const uint64_t key = KeyOf(start);
  Set& set = sets_[SetOf(key)];
  uint32_t way = kWays;
  for (uint32_t i = 0; i < kWays; ++i) {
    if (set.tags[i] == 0 || !IsThere(set.positions[i])) way = i;
  }
  if (way == kWays) way = next_way_++ % kWays;
  set.tags[way] = TagOf(key);
  set.samples[way] = TakeSample(start, words);
  set.positions[way] = position;
  return known;
}

}  // namespace gputrace::interpose

// SPDX-License-Identifier: Apache-2.0
#include "interpose/stacks/stack_memo.h"

#include <atomic>
#include <cstring>

#include "interpose/record/sys.h"

namespace gputrace::interpose {

namespace {

// What all threads' memos may take beyond what each begins with: most threads see few stacks, some
// see many.
std::atomic<int64_t> g_shared_bytes{6 << 20};

}  // namespace

// The words of the third and the sixth frame, or what there is.
StackMemo::Sample StackMemo::TakeSample(const FrameState& start, const WordList& words) {
  const uint32_t words_in_page = static_cast<uint32_t>(kPageBytes - start.sp % kPageBytes) / 8;
  Sample sample{0, {0, 0}};
  for (uint32_t i = 0; i < words.count() && i < 6; ++i) {
    const uint32_t at = words.offsets()[i] / 8;
    if (at >= words_in_page) break;
    if (i < 3) sample.at[0] = static_cast<uint16_t>(at);
    sample.at[1] = static_cast<uint16_t>(at);
  }
  if (sample.at[1] != 0) {
    sample.hash =
        HashWords(ReadWord(start.sp + 8u * sample.at[0]), ReadWord(start.sp + 8u * sample.at[1]));
  }
  return sample;
}

bool StackMemo::Grow() {
  if (arena_ == nullptr) {
    arena_ = static_cast<uint8_t*>(sys::MapPrivate(kMaxArenaBytes));
    capacity_ = arena_ == nullptr ? 0 : kFirstArenaBytes;
    return arena_ != nullptr;
  }
  // Once entries have been written over others, all are where they are for the present size.
  if (end_ > capacity_ || capacity_ == kMaxArenaBytes) return false;
  const auto more = static_cast<int64_t>(capacity_);
  if (g_shared_bytes.fetch_sub(more, std::memory_order_relaxed) < more) {
    g_shared_bytes.fetch_add(more, std::memory_order_relaxed);
    return false;
  }
  capacity_ *= 2;
  return true;
}

bool StackMemo::Wants() {
  // Where more stacks take turns than there is room for, each would be forgotten just before it
  // comes again. So once room is short most are passed over: those that are there stay for long.
  constexpr uint32_t kPassOver = 7;
  if (end_ - cleared_at_ < capacity_ || Grow()) return true;
  if (passed_over_++ < kPassOver) return false;
  passed_over_ = 0;
  return true;
}

// Moves end_ to where `size` bytes are in one piece.
bool StackMemo::MakeRoom(size_t size) {
  if (size > kFirstArenaBytes) return false;
  const size_t rest = capacity_ - (end_ & (capacity_ - 1));
  if (end_ < capacity_ && rest < size && Grow()) return true;
  if (rest < size) end_ += rest;
  if (end_ / kUnit + kMaxArenaBytes < UINT32_MAX) return true;
  // Positions would come around.
  memset(static_cast<void*>(sets_), 0, sizeof(sets_));
  end_ = 0;
  cleared_at_ = 0;
  return true;
}

KnownStack* StackMemo::Add(const FrameState& start, bool reads_bp, uint32_t max_depth,
                           const WordList& words) {
  if (!words.ok() || words.count() == 0 || arena_ == nullptr) return nullptr;
  const uint32_t count = (words.count() + 7) & ~uint32_t{7};
  const size_t size = sizeof(KnownStack) + count * (sizeof(uint64_t) + sizeof(uint32_t));
  if (!MakeRoom(size)) return nullptr;
  const auto position = static_cast<uint32_t>(end_ / kUnit);
  end_ += size;
  KnownStack* known = At(position);
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
    if (set.tags[i] == 0 || At(set.positions[i]) == nullptr) way = i;
  }
  if (way == kWays) way = next_way_++ % kWays;
  set.tags[way] = TagOf(key);
  set.samples[way] = TakeSample(start, words);
  set.positions[way] = position;
  return known;
}

}  // namespace gputrace::interpose

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

void StackMemo::Release() {
  if (arena_ == nullptr) return;
  sys::Unmap(arena_, kMaxArenaBytes);
  g_shared_bytes.fetch_add(static_cast<int64_t>(capacity_ - kFirstArenaBytes),
                           std::memory_order_relaxed);
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
  Clear();
  return true;
}

// Where the last `words` words of an entry begin, a few later if need be; its end if there are
// too few to be worth it.
uint32_t StackMemo::FirstSharedWord(const KnownStack& root, uint32_t words) {
  constexpr uint32_t kFewest = 8;
  const uint32_t count = root.word_count_without_repetition;
  const uint32_t first = (count - words + 7) & ~uint32_t{7};
  return first == 0 || first + kFewest > count ? count : first;
}

KnownStack* StackMemo::Add(const FrameState& start, bool reads_bp, uint32_t max_depth,
                           const WordList& words, Root* root) {
  if (!words.ok() || words.count() == 0 || arena_ == nullptr) return nullptr;
  uint32_t own_words = words.count();
  size_t size = sizeof(KnownStack) + (own_words + 7) * (sizeof(uint64_t) + sizeof(uint32_t));
  if (!MakeRoom(size)) return nullptr;
  // Only now: making room may have removed it.
  const KnownStack* shared = nullptr;
  if (root->words != 0 && root->period == period_) shared = At(root->position);
  uint32_t first_shared = 0;
  if (shared != nullptr) {
    first_shared = FirstSharedWord(*shared, root->words);
    const uint32_t shared_words = shared->word_count_without_repetition - first_shared;
    if (shared_words == 0) shared = nullptr;
    own_words -= shared_words;
  }
  if (own_words == 0) return nullptr;
  const uint32_t count = (own_words + 7) & ~uint32_t{7};
  const auto position = static_cast<uint32_t>(end_ / kUnit);
  end_ += sizeof(KnownStack) + count * (sizeof(uint64_t) + sizeof(uint32_t));
  if (shared != nullptr && At(root->position) == nullptr) return nullptr;  // just written over
  auto* known =
      reinterpret_cast<KnownStack*>(arena_ + (uint64_t{position} * kUnit & (capacity_ - 1)));
  memset(static_cast<void*>(known), 0, sizeof(*known));
  known->start = start;
  known->reads_bp = reads_bp;
  known->period = period_;
  known->position = position;
  known->max_depth = static_cast<uint16_t>(max_depth);
  known->word_count = static_cast<uint16_t>(count);
  known->word_count_without_repetition = static_cast<uint16_t>(own_words);
  known->extent = words.offsets()[words.count() - 1] + 8;
  auto* offsets = const_cast<uint32_t*>(known->offsets());
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t from = i < own_words ? i : own_words - 1;
    known->values[i] = words.values()[from];
    offsets[i] = words.offsets()[from];
  }
  if (shared != nullptr) {
    known->root = root->position;
    known->root_first = static_cast<uint16_t>(first_shared);
    root->words = shared->word_count_without_repetition - first_shared;
  } else {
    *root = {position, period_, own_words};
  }

  Enter(start, words, position);
  return known;
}

void StackMemo::Enter(const FrameState& start, const WordList& words, uint32_t position) {
  const uint64_t key = KeyOf(start);
  Set* set = nullptr;
  uint32_t way = kWays;
  for (uint32_t probe = 0; probe < kMaxSets && way == kWays; ++probe) {
    if (set != nullptr) set->has_overflowed = true;
    set = &sets_[SetOf(key, probe)];
    for (uint32_t i = 0; i < kWays; ++i) {
      if (set->tags[i] == 0 || At(set->positions[i]) == nullptr) way = i;
    }
  }
  if (way == kWays) {
    const uint32_t chosen = next_way_++;
    set = &sets_[SetOf(key, chosen / kWays % kMaxSets)];
    way = chosen % kWays;
  }
  set->tags[way] = TagOf(key);
  set->samples[way] = TakeSample(start, words);
  set->positions[way] = position;
}

}  // namespace gputrace::interpose

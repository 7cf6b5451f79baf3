// SPDX-License-Identifier: Apache-2.0
#include "interpose/stacks/stack_bounds.h"

#include <cerrno>

#include "interpose/record/sys.h"

namespace gputrace::interpose {
namespace {

constexpr uint64_t kPageBytes = 4096;
constexpr uint64_t kPageMask = ~(kPageBytes - 1);
// Frames are not larger, nor does a thread use more of its stack between two calls that are seen;
// beyond that it is taken for another stack.
constexpr uint64_t kMaxGrowth = 8u << 20;

}  // namespace

bool IsReadable(uint64_t address) {
  // An unknown way of changing the signal mask: the kernel reads the mask before it notices.
  constexpr long kNoSuchWay = -1;
  constexpr long kSignalSetBytes = 8;
  return sys::Call(SYS_rt_sigprocmask, kNoSuchWay,
                   sys::Pointer(reinterpret_cast<const void*>(address & ~uint64_t{7})), 0,
                   kSignalSetBytes) == -EINVAL;
}

void StackBounds::SetCurrent(uint32_t index) {
  current_ = index;
  low_ = ranges_[index].low;
  high_ = ranges_[index].high;
}

bool StackBounds::GrowDown(Range* range, uint64_t sp) {
  if (sp >= range->low || range->low - sp > kMaxGrowth) return false;
  while (sp < range->low) {
    if (!IsReadable(range->low - kPageBytes)) return false;  // a guard page: another stack
    range->low -= kPageBytes;
  }
  return true;
}

void StackBounds::EnterSlow(uint64_t sp) {
  for (uint32_t i = 0; i < kStacks; ++i) {
    if (sp - ranges_[i].low < ranges_[i].high - ranges_[i].low) {
      SetCurrent(i);
      return;
    }
  }
  for (uint32_t i = 0; i < kStacks; ++i) {
    if (ranges_[i].high != 0 && GrowDown(&ranges_[i], sp)) {
      SetCurrent(i);
      return;
    }
  }
  const uint32_t index = next_++ % kStacks;
  ranges_[index] = {sp & kPageMask, (sp & kPageMask) + kPageBytes};
  SetCurrent(index);
}

bool StackBounds::CoversSlow(uint64_t address) {
  if (address % 8 != 0 || address < low_ || address - high_ + kPageBytes > kMaxGrowth) return false;
  while (address + 8 > high_) {
    if (!IsReadable(high_)) return false;
    high_ += kPageBytes;
    ranges_[current_].high = high_;
  }
  return true;
}

void StackBounds::Forget() { *this = {}; }

}  // namespace gputrace::interpose

// SPDX-License-Identifier: Apache-2.0
// Which memory above a stack pointer is known to be readable: what unwinding reads must not fault,
// also if frame information is wrong. A thread may have several stacks (coroutines, signals).
#ifndef GPUTRACE_INTERPOSE_STACKS_STACK_BOUNDS_H_
#define GPUTRACE_INTERPOSE_STACKS_STACK_BOUNDS_H_

#include <cstdint>

namespace gputrace::interpose {

// Zeroed memory is a valid object that knows nothing. One thread's own.
class StackBounds {
 public:
  // Makes the stack that `sp` points into the current one. `sp` must be readable.
  void Enter(uint64_t sp) {
    if (!IsCurrent(sp)) EnterSlow(sp);
  }
  bool IsCurrent(uint64_t sp) const { return sp - low_ < high_ - low_; }
  // Whether the 8 bytes at `address` are readable and part of the current stack. Asks the kernel
  // about each page once.
  bool Covers(uint64_t address) {
    return (address >= low_ && address + 8 <= high_ && address % 8 == 0) || CoversSlow(address);
  }
  // Without asking: addresses below this, from `low` on, are readable.
  uint64_t high() const { return high_; }
  uint64_t low() const { return low_; }

  // Stacks of another thread, or of code that has ended, may be gone.
  void Forget();

 private:
  static constexpr uint32_t kStacks = 8;
  struct Range {
    uint64_t low;
    uint64_t high;
  };

  void EnterSlow(uint64_t sp);
  bool CoversSlow(uint64_t address);
  bool GrowDown(Range* range, uint64_t sp);
  void SetCurrent(uint32_t index);

  uint64_t low_;  // of the current stack
  uint64_t high_;
  uint32_t current_;
  uint32_t next_;  // to be replaced
  Range ranges_[kStacks];
};

// Whether the byte at `address` can be read, by asking the kernel.
bool IsReadable(uint64_t address);

}  // namespace gputrace::interpose

#endif  // GPUTRACE_INTERPOSE_STACKS_STACK_BOUNDS_H_

// SPDX-License-Identifier: Apache-2.0
// Native call stacks of the calling thread, exactly and cheaply.
//
// Three ways, the first that will do:
//   - a stack that this thread has captured before is recognised (StackMemo): a nanosecond a frame;
//   - else it is walked by rules that are remembered per address (RuleCache), and where it goes on
//     as the last one that was walked did, that one's frames are compared and taken over;
//   - frames whose information needs more registers than rules know: libunwind.
//
// A stack is exact, or cut short and marked so. Code without frame information is crossed by its
// frame pointer only if nothing speaks against it.
#ifndef GPUTRACE_INTERPOSE_STACKS_UNWINDER_H_
#define GPUTRACE_INTERPOSE_STACKS_UNWINDER_H_

#include <cstdint>

#include "interpose/stacks/captured_stack.h"
#include "interpose/stacks/code_map.h"
#include "interpose/stacks/frame_rule.h"
#include "interpose/stacks/own_code.h"
#include "interpose/stacks/rule_cache.h"
#include "interpose/stacks/stack_bounds.h"
#include "interpose/stacks/stack_memo.h"

namespace gputrace::interpose {

// The state in which the function that `frame` belongs to was called. The function must have a
// frame pointer: __builtin_frame_address(0) gives it one, and is what to pass.
inline FrameState CallerOf(const void* frame) {
  const auto* words = static_cast<const uint64_t*>(frame);
  return {words[1], reinterpret_cast<uint64_t>(words + 2), words[0]};
}

// Zeroed memory is a valid object, about 700 KiB of which most is touched only as there are many
// different stacks. One thread's own. Not for a signal handler that interrupts Capture itself.
class Unwinder {
 public:
  // Captures up to `max_depth` (at most kMaxStackDepth) frames of the calling thread's stack, which
  // must still hold `caller`'s. False if there is none. The first time it meets code it may take
  // the loader's lock and map memory. Keeps errno.
  //
  // Sets stack->known, and leaves pcs alone, if a stack with this hash has been given out with all
  // its pcs since ForgetNames.
  bool Capture(const FrameState& caller, uint32_t max_depth, CapturedStack* stack);

  // The same, if it takes nanoseconds: false, too, if the stack is not a known one.
  bool Recognize(const FrameState& caller, uint32_t max_depth, CapturedStack* stack) {
    const uint64_t state = CodeState();
    if (state != code_state_ || IsUnloading(state) || !bounds_.IsCurrent(caller.sp)) return false;
    if (IsOwnCode(caller.pc)) return RecognizeBehindOwn(caller, max_depth, stack);
    return FindKnown(caller, max_depth, stack);
  }

  // All stacks are to be given out with their pcs again.
  void ForgetNames() { ++naming_; }
  // Gives memory back; the object may not be used afterwards.
  void Release() { memo_.Release(); }
  // Another thread goes on using this object.
  void ChangeThread();

 private:
  static constexpr uint32_t kMaxFrames = trace::kMaxStackDepth;

  struct Frame {
    FrameState state;
    uint64_t hash;  // of it and all outer ones
    FrameRule rule;
    bool needs_bp;  // what follows outwards depends on state.bp
  };
  // Frames from the innermost one outwards.
  struct Walk {
    uint32_t count;
    bool complete;      // its last frame is the outermost one
    bool reached_zero;  // the last frame's return address is 0, which ends a stack as well
    bool can_be_known;  // all its words are on one stack, and all its rules are remembered
    StackMemo::Root root;
    uint32_t shared;  // the last `shared` frames are a complete walk's, with hashes and needs_bp
    Frame frames[kMaxFrames];
  };
  enum class Step : uint8_t { kTaken, kEnd, kLost, kComplex };

  [[gnu::always_inline]] bool FindKnown(const FrameState& start, uint32_t max_depth,
                                        CapturedStack* stack) {
    const KnownStack* known = memo_.Find(start, max_depth, bounds_);
    if (known == nullptr || known->naming != naming_) return false;
    stack->hash = known->hash;
    stack->truncated = known->truncated;
    stack->known = true;
    stack->depth = 0;
    return true;
  }
  bool RecognizeBehindOwn(FrameState state, uint32_t max_depth, CapturedStack* stack);
  void CheckCode();
  bool SkipOwnFrames(FrameState* state);
  // `known` is the memo's entry for it, if there is one.
  bool WalkAndRemember(const FrameState& start, uint32_t max_depth, KnownStack* known,
                       CapturedStack* stack);
  // Appends frames to `walk` until the end or the limit. False: libunwind is needed.
  bool WalkFrames(const FrameState& start, uint32_t max_depth, Walk* walk);
  Step StepByRule(const FrameRule& rule, FrameState* state);
  Step StepOutOfSignal(FrameState* state);
  Step StepByFramePointer(FrameState* state);
  uint32_t TakeOver(const Walk& last, uint32_t at, uint32_t max_depth, Walk* walk);
  bool StillHolds(const Frame& inner, const Frame& outer);
  void Finish(Walk* walk);
  KnownStack* Remember(Walk* walk, const StackMemo::Root& last_root, uint32_t max_depth);
  bool CaptureSlowly(uint32_t max_depth, CapturedStack* stack);
  bool LooksLikeCode(uint64_t word, uint64_t near);

  uint64_t code_state_;
  uint32_t naming_;
  uint32_t current_walk_;
  StackBounds bounds_;
  WordList words_;
  Walk walks_[2];  // the last one and the one being made
  RuleCache rules_;
  StackMemo memo_;
};

}  // namespace gputrace::interpose

#endif  // GPUTRACE_INTERPOSE_STACKS_UNWINDER_H_

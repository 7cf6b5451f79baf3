// SPDX-License-Identifier: Apache-2.0
#include "interpose/stacks/unwinder.h"

#include <ucontext.h>

#include "interpose/stacks/code_map.h"
#include "interpose/stacks/slow_unwind.h"

namespace gputrace::interpose {
namespace {

uint64_t Plus(uint64_t address, int64_t offset) { return address + static_cast<uint64_t>(offset); }

// Nothing below this is ever mapped as code.
constexpr uint64_t kLowestCode = 4096;

}  // namespace

// What was learnt about addresses is good only while no code was unloaded.
void Unwinder::CheckCode() {
  const uint64_t state = CodeState();
  if (state == code_state_ && !IsUnloading(state)) return;
  code_state_ = state;
  rules_.Clear();
  memo_.Clear();
  walks_[0].count = 0;
  walks_[1].count = 0;
}

void Unwinder::ChangeThread() {
  bounds_.Forget();
  ForgetNames();
}

Unwinder::Step Unwinder::StepByRule(const FrameRule& rule, FrameState* state) {
  uint64_t cfa = 0;
  switch (rule.kind) {
    case FrameKind::kSp:
      cfa = Plus(state->sp, rule.cfa_offset);
      break;
    case FrameKind::kBp:
      cfa = Plus(state->bp, rule.cfa_offset);
      break;
    case FrameKind::kAtBp: {
      const uint64_t place = Plus(state->bp, rule.cfa_offset);
      if (place < state->sp || !bounds_.Covers(place)) return Step::kLost;
      cfa = ReadWord(place);
      break;
    }
    case FrameKind::kOutermost:
      return Step::kEnd;
    case FrameKind::kSignal:
    case FrameKind::kComplex:
    case FrameKind::kNone:
      return Step::kComplex;
  }
  // Outwards on this stack, whatever the frame information says.
  if (cfa < state->sp + 8 || !bounds_.Covers(cfa - 8)) return Step::kLost;
  uint64_t bp = state->bp;
  if (rule.bp != BpRule::kSame) {
    const uint64_t place = Plus(rule.bp == BpRule::kAtCfa ? cfa : state->bp, rule.bp_offset);
    if (place < state->sp || place >= cfa || !bounds_.Covers(place)) return Step::kLost;
    bp = ReadWord(place);
  }
  *state = {ReadWord(cfa - 8), cfa, bp};
  return state->pc == 0 ? Step::kEnd : Step::kTaken;
}

// The kernel has put the interrupted state on the stack, just above the handler's return address.
Unwinder::Step Unwinder::StepOutOfSignal(FrameState* state) {
  const uint64_t saved = state->sp;
  if (!bounds_.Covers(saved) || !bounds_.Covers((saved + sizeof(ucontext_t)) & ~uint64_t{7})) {
    return Step::kLost;
  }
  const auto& registers = reinterpret_cast<const ucontext_t*>(saved)->uc_mcontext.gregs;
  *state = {static_cast<uint64_t>(registers[REG_RIP]), static_cast<uint64_t>(registers[REG_RSP]),
            static_cast<uint64_t>(registers[REG_RBP])};
  if (state->pc == 0) return Step::kEnd;
  // The handler may have had a stack of its own.
  if (!IsReadable(state->sp)) return Step::kLost;
  bounds_.Enter(state->sp);
  return Step::kTaken;
}

// Whether a word on the stack may be a return address into code that is known, or into code
// without frame information that lies near.
bool Unwinder::LooksLikeCode(uint64_t word, uint64_t near) {
  constexpr uint64_t kNear = 16u << 20;
  if (word - near + kNear < 2 * kNear) return true;
  return word >= kLowestCode && rules_.Find(word - 1).kind != FrameKind::kNone;
}

// Code without frame information: just-in-time compilers make it. If it keeps a frame pointer, its
// caller's frame is found by it. If not, rbp is an outer frame's, which would skip frames: but then
// the return address lies between here and there.
Unwinder::Step Unwinder::StepByFramePointer(FrameState* state) {
  constexpr uint64_t kMaxFrameBytes = 4096;
  const uint64_t bp = state->bp;
  if (bp < state->sp || bp - state->sp > kMaxFrameBytes || !bounds_.Covers(bp) ||
      !bounds_.Covers(bp + 8)) {
    return Step::kLost;
  }
  const uint64_t pc = ReadWord(bp + 8);
  if (pc < kLowestCode || rules_.Find(pc - 1).kind == FrameKind::kNone) return Step::kLost;
  for (uint64_t at = state->sp; at < bp; at += 8) {
    if (LooksLikeCode(ReadWord(at), state->pc)) return Step::kLost;
  }
  *state = {pc, bp + 16, ReadWord(bp)};
  return Step::kTaken;
}

// Whether the step from `inner` to `outer`, two frames of an earlier walk, would be the same now.
bool Unwinder::StillHolds(const Frame& inner, const Frame& outer) {
  const FrameRule& rule = inner.rule;
  if (!bounds_.Covers(outer.state.sp - 8)) return false;
  if (rule.kind == FrameKind::kAtBp &&
      ReadWord(Plus(inner.state.bp, rule.cfa_offset)) != outer.state.sp) {
    return false;
  }
  if (rule.bp != BpRule::kSame) {
    const uint64_t base = rule.bp == BpRule::kAtCfa ? outer.state.sp : inner.state.bp;
    if (ReadWord(Plus(base, rule.bp_offset)) != outer.state.bp) return false;
  }
  return ReadWord(outer.state.sp - 8) == outer.state.pc;
}

// The walk has come to a state that the last walk was in, too. Takes over its frames from there for
// as long as nothing has changed; returns how many. walk's last frame is then the last of these.
uint32_t Unwinder::TakeOver(const Walk& last, uint32_t at, uint32_t max_depth, Walk* walk) {
  const uint32_t first = walk->count;
  for (;;) {
    walk->frames[walk->count++] = last.frames[at];
    if (at + 1 == last.count || walk->count == max_depth ||
        !StillHolds(last.frames[at], last.frames[at + 1])) {
      break;
    }
    ++at;
  }
  if (at + 1 == last.count && last.complete && !last.reached_zero) {
    walk->shared = walk->count - first;
    walk->complete = true;
  }
  return walk->count - first;
}

bool Unwinder::WalkFrames(const FrameState& start, uint32_t max_depth, Walk* walk) {
  walk->count = 0;
  walk->root = {};
  walk->shared = 0;
  walk->complete = false;
  walk->reached_zero = false;
  walk->can_be_known = true;
  const Walk& last = walks_[current_walk_];
  uint32_t in_last = 0;  // frames before this one are further inwards than the state
  FrameState state = start;
  bool is_interrupted = false;  // pc is not a return address
  for (;;) {
    while (in_last < last.count && last.frames[in_last].state.sp < state.sp) ++in_last;
    FrameRule rule;
    if (in_last < last.count && last.frames[in_last].state.sp == state.sp &&
        last.frames[in_last].state.pc == state.pc && last.frames[in_last].state.bp == state.bp &&
        walk->can_be_known) {
      in_last += TakeOver(last, in_last, max_depth, walk);
      if (walk->complete) return true;
      rule = walk->frames[walk->count - 1].rule;
      state = walk->frames[walk->count - 1].state;
    } else {
      rule = rules_.Find(is_interrupted ? state.pc : state.pc - 1);
      walk->frames[walk->count++] = {state, 0, rule, false};
    }
    Step step = Step::kLost;
    if (rule.is_simple() || rule.kind == FrameKind::kOutermost) {
      is_interrupted = false;
      step = StepByRule(rule, &state);
    } else if (rule.kind == FrameKind::kComplex) {
      return false;
    } else {
      walk->can_be_known = false;
      is_interrupted = rule.kind == FrameKind::kSignal;
      step = is_interrupted ? StepOutOfSignal(&state) : StepByFramePointer(&state);
    }
    if (step == Step::kLost) {
      walk->can_be_known = false;
      return true;
    }
    if (step == Step::kEnd) {
      walk->complete = true;
      walk->reached_zero = rule.kind != FrameKind::kOutermost;
      return true;
    }
    if (walk->count == max_depth) return true;
  }
}

// Hashes, and what depends on rbp: from the outer end inwards.
void Unwinder::Finish(Walk* walk) {
  uint32_t i = walk->count - walk->shared;
  uint64_t hash = HashOutermost(CodeChanges(code_state_));
  bool needs_bp = false;
  if (walk->shared != 0) {
    hash = walk->frames[i].hash;
    needs_bp = walk->frames[i].needs_bp;
  }
  while (i > 0) {
    Frame& frame = walk->frames[--i];
    hash = HashInner(hash, frame.state.pc);
    frame.hash = hash;
    const bool is_last = i + 1 == walk->count && !walk->reached_zero;
    if (is_last) {
      needs_bp = false;  // nothing further was read
    } else {
      needs_bp = frame.rule.reads_bp() || (frame.rule.bp == BpRule::kSame && needs_bp);
    }
    frame.needs_bp = needs_bp;
  }
}

KnownStack* Unwinder::Remember(Walk* walk, const StackMemo::Root& last_root, uint32_t max_depth) {
  const FrameState& start = walk->frames[0].state;
  uint32_t inner_words = 0;  // those that are not shared with the last walk
  words_.Start(start.sp);
  for (uint32_t i = 0; i + 1 < walk->count; ++i) {
    if (i + walk->shared == walk->count) inner_words = words_.count();
    const Frame& frame = walk->frames[i];
    const Frame& outer = walk->frames[i + 1];
    if (frame.rule.kind == FrameKind::kAtBp) {
      words_.Add(Plus(frame.state.bp, frame.rule.cfa_offset), outer.state.sp);
    }
    if (frame.rule.bp != BpRule::kSame && outer.needs_bp) {
      const uint64_t base = frame.rule.bp == BpRule::kAtCfa ? outer.state.sp : frame.state.bp;
      words_.Add(Plus(base, frame.rule.bp_offset), outer.state.bp);
    }
    words_.Add(outer.state.sp - 8, outer.state.pc);
  }
  if (walk->shared > 1 && words_.ok()) {
    walk->root = last_root;
    const uint32_t words = words_.count() - inner_words;
    if (words < walk->root.words) walk->root.words = words;
  }
  return memo_.Add(start, walk->frames[0].needs_bp, max_depth, words_, &walk->root);
}

bool Unwinder::WalkAndRemember(const FrameState& start, uint32_t max_depth, KnownStack* known,
                               CapturedStack* stack) {
  Walk* walk = &walks_[current_walk_ ^ 1];
  const uint64_t code_state = code_state_;
  if (!WalkFrames(start, max_depth, walk)) return CaptureSlowly(max_depth, stack);
  if (CodeState() != code_state) {
    // Found out on the way: rules that were used may be those of other code.
    CheckCode();
    if (!WalkFrames(start, max_depth, walk)) return CaptureSlowly(max_depth, stack);
  }
  Finish(walk);
  stack->hash = HashFinished(walk->frames[0].hash);
  stack->truncated = !walk->complete;
  stack->known = false;
  stack->depth = walk->count;
  for (uint32_t i = 0; i < walk->count; ++i) stack->pcs[i] = walk->frames[i].state.pc;
  if (!walk->can_be_known) return true;
  const StackMemo::Root last_root = walks_[current_walk_].root;
  current_walk_ ^= 1;
  if (walk->reached_zero) return true;
  if (known == nullptr && memo_.Wants()) known = Remember(walk, last_root, max_depth);
  if (known == nullptr) return true;
  known->hash = stack->hash;
  known->truncated = stack->truncated;
  known->naming = naming_;
  return true;
}

bool Unwinder::CaptureSlowly(uint32_t max_depth, CapturedStack* stack) {
  uint64_t pcs[kMaxFrames + 1];
  uint32_t count = UnwindSlowly(pcs, max_depth + 1);
  stack->truncated = count > max_depth;
  if (count > max_depth) count = max_depth;
  // libunwind guesses where there is no frame information, and does not say why it ended.
  for (uint32_t i = 0; i < count && !stack->truncated; ++i) {
    const FrameKind kind = rules_.Find(pcs[i] - 1).kind;
    if (kind == FrameKind::kNone) count = i + 1;
    if (i + 1 == count) stack->truncated = kind != FrameKind::kOutermost;
  }
  uint64_t hash = HashOutermost(CodeChanges(code_state_));
  for (uint32_t i = count; i-- > 0;) hash = HashInner(hash, pcs[i]);
  stack->hash = HashFinished(hash);
  stack->known = false;
  stack->depth = count;
  for (uint32_t i = 0; i < count; ++i) stack->pcs[i] = pcs[i];
  return count > 0;
}

bool Unwinder::SkipOwnFrames(FrameState* state) {
  constexpr uint32_t kMaxOwnFrames = 16;
  for (uint32_t i = 0; IsOwnCode(state->pc); ++i) {
    if (i == kMaxOwnFrames) return false;
    if (StepByRule(rules_.Find(state->pc - 1), state) != Step::kTaken) return false;
  }
  return true;
}

bool Unwinder::RecognizeBehindOwn(FrameState state, uint32_t max_depth, CapturedStack* stack) {
  return SkipOwnFrames(&state) && FindKnown(state, max_depth, stack);
}

bool Unwinder::Capture(const FrameState& caller, uint32_t max_depth, CapturedStack* stack) {
  CheckCode();
  bounds_.Enter(caller.sp);
  FrameState start = caller;
  if (!SkipOwnFrames(&start)) return false;
  KnownStack* known = memo_.Find(start, max_depth, bounds_);
  if (known != nullptr && known->naming == naming_) return FindKnown(start, max_depth, stack);
  return WalkAndRemember(start, max_depth, known, stack);
}

}  // namespace gputrace::interpose

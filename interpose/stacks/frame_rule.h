// SPDX-License-Identifier: Apache-2.0
// How to get from a frame to its caller's, at one address of code (x86-64).
//
// Nearly all code is compiled to one of a few forms: where the frame ends (the CFA: what the stack
// pointer is after the return) is an offset from rsp or rbp; the return address is just below; rbp
// is unchanged or saved at an offset. Then the caller's pc, sp and bp follow from the frame's own,
// and no other register need be known.
#ifndef GPUTRACE_INTERPOSE_STACKS_FRAME_RULE_H_
#define GPUTRACE_INTERPOSE_STACKS_FRAME_RULE_H_

#include <cstdint>

namespace gputrace::interpose {

enum class FrameKind : uint8_t {
  kNone,       // no frame information covers the address
  kComplex,    // other registers or expressions are needed
  kSp,         // CFA = sp + cfa_offset
  kBp,         // CFA = bp + cfa_offset
  kAtBp,       // CFA is stored at bp + cfa_offset: functions that align their stack
  kSignal,     // sp points to what the kernel saved (ucontext_t) when it called a handler
  kOutermost,  // has no caller
};

enum class BpRule : uint8_t {
  kSame,
  kAtCfa,  // saved at CFA + bp_offset
  kAtBp,   // saved at bp + bp_offset
};

struct FrameRule {
  FrameKind kind = FrameKind::kNone;
  BpRule bp = BpRule::kSame;
  int16_t bp_offset = 0;   // bytes
  int32_t cfa_offset = 0;  // bytes

  bool is_simple() const {
    return kind == FrameKind::kSp || kind == FrameKind::kBp || kind == FrameKind::kAtBp;
  }
  // Whether the caller's frame depends on this frame's bp.
  bool reads_bp() const {
    return kind == FrameKind::kBp || kind == FrameKind::kAtBp || bp == BpRule::kAtBp;
  }
};
static_assert(sizeof(FrameRule) == 8);

// The registers that rules are about.
struct FrameState {
  uint64_t pc;
  uint64_t sp;
  uint64_t bp;
};

inline uint64_t ReadWord(uint64_t address) { return *reinterpret_cast<const uint64_t*>(address); }

}  // namespace gputrace::interpose

#endif  // GPUTRACE_INTERPOSE_STACKS_FRAME_RULE_H_

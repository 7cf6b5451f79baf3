// SPDX-License-Identifier: Apache-2.0
// A call stack as it is captured.
#ifndef GPUTRACE_INTERPOSE_STACKS_CAPTURED_STACK_H_
#define GPUTRACE_INTERPOSE_STACKS_CAPTURED_STACK_H_

#include <cstdint>

#include "trace/format.h"

namespace gputrace::interpose {

struct CapturedStack {
  uint64_t hash;                        // of the frames, never 0
  bool truncated;                       // the outer end is missing
  bool known;                           // captured before (see Unwinder): pcs are not filled in
  uint32_t depth;                       // of pcs
  uint64_t pcs[trace::kMaxStackDepth];  // return addresses, innermost first; none of this library's
};

// The hash of a stack is made from its outermost frame inwards, so that stacks with the same
// outer part share the work. `seed` tells apart stacks that mean different code at the same
// addresses.
inline uint64_t HashOutermost(uint64_t seed) { return seed * 0x9e3779b97f4a7c15u + 1; }
inline uint64_t HashInner(uint64_t outer, uint64_t pc) {
  uint64_t mixed = pc * 0x9e3779b97f4a7c15u;  // beside the chain of multiplications
  mixed ^= mixed >> 32;
  return (outer + mixed) * 0xff51afd7ed558ccdu;
}
inline uint64_t HashFinished(uint64_t hash) {
  hash ^= hash >> 32;
  return hash == 0 ? 1 : hash;
}

}  // namespace gputrace::interpose

#endif  // GPUTRACE_INTERPOSE_STACKS_CAPTURED_STACK_H_

// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/call_paths.h"

#include <utility>

namespace gputrace::bench {
namespace {

struct Walk {
  const CallPath* path;
  size_t end;
  Leaf leaf;
  void* argument;
};
using Step = void (*)(const Walk& walk, size_t at);

void Next(const Walk& walk, size_t at);

// Frames of 16 different sizes; the empty assembler statements keep the array in the frame, and the
// call from becoming a jump.
template <size_t kIndex>
[[gnu::noinline]] void Frame(const Walk& walk, size_t at) {
  char local[16 + 24 * (kIndex % 16)];
  asm volatile("" : : "r"(local) : "memory");
  Next(walk, at);
  asm volatile("" : : "r"(local), "i"(kIndex) : "memory");
}

template <size_t... kIndices>
constexpr std::array<Step, sizeof...(kIndices)> MakeSteps(std::index_sequence<kIndices...>) {
  return {Frame<kIndices>...};
}
constexpr std::array<Step, kFunctions> kSteps = MakeSteps(std::make_index_sequence<kFunctions>());

// Part of each frame above, not one of its own.
[[gnu::always_inline]] inline void Next(const Walk& walk, size_t at) {
  if (at == walk.end) {
    walk.leaf(walk.argument);
  } else {
    kSteps[walk.path->functions[at] % kFunctions](walk, at + 1);
  }
}

}  // namespace

void CallAlong(const CallPath& path, size_t first, size_t depth, Leaf leaf, void* argument) {
  const Walk walk{&path, first + depth, leaf, argument};
  Next(walk, first);
}

}  // namespace gputrace::bench

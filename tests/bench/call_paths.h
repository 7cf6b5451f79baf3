// SPDX-License-Identifier: Apache-2.0
// Call stacks of a wanted depth, through functions that differ in size and frame, along different
// paths.
#ifndef GPUTRACE_TESTS_BENCH_CALL_PATHS_H_
#define GPUTRACE_TESTS_BENCH_CALL_PATHS_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace gputrace::bench {

inline constexpr size_t kMaxDepth = 128;
inline constexpr size_t kFunctions = 64;

// What is called at the innermost frame.
using Leaf = void (*)(void* argument);

// Which function is at each frame, outermost first.
struct CallPath {
  std::array<uint8_t, kMaxDepth> functions{};
};

// Calls `leaf(argument)` below `depth` frames chosen by `path`, beginning at its frame `first`.
void CallAlong(const CallPath& path, size_t first, size_t depth, Leaf leaf, void* argument);

}  // namespace gputrace::bench

#endif  // GPUTRACE_TESTS_BENCH_CALL_PATHS_H_

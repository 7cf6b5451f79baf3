// SPDX-License-Identifier: Apache-2.0
// Marks that a program leaves at its quiet points: so much address space, and a page more for each
// mark before, is reserved and freed. Both accounts hold them. Nothing else is as large. In between
// the program asks what its pools use.
#ifndef GPUTRACE_TESTS_TRUTH_MARKS_H_
#define GPUTRACE_TESTS_TRUTH_MARKS_H_

#include <cstdint>

namespace gputrace::truth {

inline constexpr uint64_t kMarkBase = uint64_t{1} << 40;
inline constexpr uint64_t kMarkStep = 4096;

}  // namespace gputrace::truth

#endif  // GPUTRACE_TESTS_TRUTH_MARKS_H_

// SPDX-License-Identifier: Apache-2.0
// A program for the truth test: a list of driver calls for several threads, as text.
//
//   threads 4
//   set GPUSIM_FAIL cuMemFree_v2:p0.02=700
//   phase parallel
//   2 MemAlloc 17 4096
//
// A step is a thread, an operation (operations.h) and its arguments. Objects are named by slots;
// what an empty slot stands for is refused by the driver. So any step may be left out and the rest
// is still a program, which is what makes it possible to shrink one.
#ifndef GPUTRACE_TESTS_TRUTH_PROGRAM_H_
#define GPUTRACE_TESTS_TRUTH_PROGRAM_H_

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace gputrace::truth {

inline constexpr size_t kMaxArguments = 5;

struct Step {
  uint32_t thread = 0;
  uint16_t operation = 0;  // position in Operations()
  std::array<uint64_t, kMaxArguments> arguments{};
};

struct Phase {
  // In a parallel phase threads work on objects of their own, all at once. In a serial one they
  // take turns, in the order of the steps, with any object: there double frees and resets are
  // decided.
  bool parallel = false;
  std::vector<Step> steps;
};

struct Program {
  uint32_t threads = 1;
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<Phase> phases;
};

std::string Print(const Program& program);
// False, and why, if the text is no program.
bool Parse(const std::string& text, Program* program, std::string* error);

}  // namespace gputrace::truth

#endif  // GPUTRACE_TESTS_TRUTH_PROGRAM_H_

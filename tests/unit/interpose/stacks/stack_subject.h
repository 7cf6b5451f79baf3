// SPDX-License-Identifier: Apache-2.0
#ifndef GPUTRACE_TESTS_UNIT_INTERPOSE_STACKS_STACK_SUBJECT_H_
#define GPUTRACE_TESTS_UNIT_INTERPOSE_STACKS_STACK_SUBJECT_H_

#include <cstdint>

namespace gputrace::interpose {

inline constexpr int kSubjectSteps = 12;

// Which kind of frame comes at each depth, and what to call at the innermost one.
struct SubjectPath {
  const uint8_t* steps;  // below kSubjectSteps
  int depth;
  int at;
  void (*leaf)(void* argument);
  void* argument;
};

}  // namespace gputrace::interpose

// Exported by each library of subjects.
extern "C" void RunSubject(gputrace::interpose::SubjectPath* path);

#endif  // GPUTRACE_TESTS_UNIT_INTERPOSE_STACKS_STACK_SUBJECT_H_

// SPDX-License-Identifier: Apache-2.0
// Built twice with ROOM of one size or another: the same code but for the size of its frames.
#include "tests/unit/interpose/stacks/stack_subject.h"

using gputrace::interpose::SubjectPath;

extern "C" [[gnu::noinline]] void RunAlike(SubjectPath* path) {
  volatile char room[ROOM];
  room[0] = 1;
  if (path->at == path->depth) {
    path->leaf(path->argument);
  } else {
    ++path->at;
    RunAlike(path);
  }
  asm volatile("" : : "r"(room) : "memory");
}

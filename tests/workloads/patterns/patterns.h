// SPDX-License-Identifier: Apache-2.0
// How the programs here are made: each is a set of scenes, chosen by the first argument. With a
// second one, "healthy", a scene leaves out its bug.
#ifndef GPUTRACE_TESTS_WORKLOADS_PATTERNS_PATTERNS_H_
#define GPUTRACE_TESTS_WORKLOADS_PATTERNS_PATTERNS_H_

#include <cstdio>
#include <cstring>

#include "tests/workloads/check.h"

inline constexpr size_t kMiB = size_t{1} << 20;
inline constexpr char kImage[] = ".version 8.0\n.target sm_90\n";

struct Scene {
  const char* name;
  void (*run)(bool healthy);
};

// Keeps a call from becoming a jump, so that its caller stays in the stack.
inline void KeepFrame() { asm volatile("" ::: "memory"); }

template <size_t kCount>
int PlayScene(const Scene (&scenes)[kCount], int count, char** arguments) {
  const bool healthy = count > 2 && strcmp(arguments[2], "healthy") == 0;
  for (const Scene& scene : scenes) {
    if (count < 2 || strcmp(scene.name, arguments[1]) != 0) continue;
    CHECK(cuInit(0));
    scene.run(healthy);
    return 0;
  }
  fprintf(stderr, "usage: %s SCENE [healthy]\n", arguments[0]);
  return 2;
}

#endif  // GPUTRACE_TESTS_WORKLOADS_PATTERNS_PATTERNS_H_

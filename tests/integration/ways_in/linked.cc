// SPDX-License-Identifier: Apache-2.0
// Linked to the driver; the build makes several programs and libraries of it. 10 allocations, 10
// frees.
#include "tests/workloads/check.h"

#ifdef IN_CONSTRUCTOR
#define WHEN [[gnu::constructor]]
#else
#define WHEN
#endif

extern "C" WHEN void RunLinear() {
  UsePrimary();
  for (int i = 0; i < 10; ++i) {
    CUdeviceptr address = 0;
    CHECK(cuMemAlloc(&address, 4096));
    CHECK(cuMemFree(address));
  }
}

#ifndef IS_LIBRARY
int main() { RunLinear(); }
#endif

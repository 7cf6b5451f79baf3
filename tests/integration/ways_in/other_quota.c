/* SPDX-License-Identifier: Apache-2.0
 * A quota tool's preload of the other kind: exports cuMemAlloc_v2 and finds the next by RTLD_NEXT. Counts
 * its calls, which it prints at exit. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

static int calls;

int cuMemAlloc_v2(unsigned long long* address, size_t size) {
  int (*next)(unsigned long long*, size_t) =
      (int (*)(unsigned long long*, size_t))dlsym(RTLD_NEXT, "cuMemAlloc_v2");
  ++calls;
  return next == NULL ? 3 : next(address, size);
}

__attribute__((destructor)) static void report(void) { printf("quota tool: %d calls\n", calls); }

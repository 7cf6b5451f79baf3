/* SPDX-License-Identifier: Apache-2.0
 * A quota tool's preload: hooks cuMemAlloc_v2 through a dlsym of its own and counts its calls, which it
 * prints at exit. It finds the real dlsym as such tools do. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef int (*allocate_function)(unsigned long long*, size_t);
static allocate_function next;
static int calls;

static int counting_allocate(unsigned long long* address, size_t size) {
  ++calls;
  return next(address, size);
}

void* dlsym(void* handle, const char* name) {
  void* (*real)(void*, const char*) = (void* (*)(void*, const char*))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
  void* found = real(handle, name);
  if (strcmp(name, "cuMemAlloc_v2") == 0 && found != NULL) {
    next = (allocate_function)found;
    return (void*)counting_allocate;
  }
  return found;
}

__attribute__((destructor)) static void report(void) { printf("quota tool: %d calls\n", calls); }

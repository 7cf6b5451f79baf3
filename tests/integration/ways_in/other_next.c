/* SPDX-License-Identifier: Apache-2.0
 * A preload that wraps puts and finds the real one by RTLD_NEXT: with a dlsym in between that libc takes
 * for the caller it would find itself, and recurse. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

int puts(const char* text) {
  int (*real)(const char*) = (int (*)(const char*))dlsym(RTLD_NEXT, "puts");
  real("wrapped:");
  return real(text);
}

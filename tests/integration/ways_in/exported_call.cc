// SPDX-License-Identifier: Apache-2.0
// A program that works without the driver: refers to it weakly, and probes for it. Prints what it
// finds and what a call answers.
#include <cuda.h>
#include <dlfcn.h>

#include <cstdio>

#pragma weak cuInit

int main() {
  printf("%d %d", dlsym(RTLD_DEFAULT, "cuInit") == nullptr,
         dlopen("libcuda.so.1", RTLD_NOW) == nullptr);
  if (cuInit != nullptr) printf(" %d", cuInit(0));
  printf("\n");
}

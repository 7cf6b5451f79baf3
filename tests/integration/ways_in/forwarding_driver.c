/* SPDX-License-Identifier: Apache-2.0
 * A driver that is a forwarder, as WSL's is: its functions find themselves in the real driver, once by a
 * handle and once in the global scope. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static void* find(const char* name) {
  static void* real;
  if (real == NULL) real = dlopen(getenv("REAL_DRIVER"), RTLD_NOW | RTLD_LOCAL);
  return dlsym(real, name);
}

typedef unsigned long long address_t;

int cuDriverGetVersion(int* version) {
  return ((int (*)(int*))find("cuDriverGetVersion"))(version);
}
int cuInit(unsigned flags) { return ((int (*)(unsigned))find("cuInit"))(flags); }
int cuDevicePrimaryCtxRetain(void** context, int device) {
  return ((int (*)(void**, int))find("cuDevicePrimaryCtxRetain"))(context, device);
}
int cuCtxSetCurrent(void* context) {
  return ((int (*)(void*))find("cuCtxSetCurrent"))(context);
}
int cuMemAlloc_v2(address_t* address, size_t size) {
  return ((int (*)(address_t*, size_t))find("cuMemAlloc_v2"))(address, size);
}
int cuMemFree_v2(address_t address) {
  return ((int (*)(address_t))find("cuMemFree_v2"))(address);
}
/* Of a later driver: nobody knows what they do. */
int cuMemFancyAlloc(address_t* address) { return address == NULL; }
int cuFancyLaunch(void) { return 0; }
/* The first ABI, for 32-bit addresses. */
int cuMemAlloc(unsigned* address, unsigned size) { return address == NULL || size == 0; }

int cuGetProcAddress_v2(const char* name, void** found, int version, unsigned long long flags, void* status) {
  return ((int (*)(const char*, void**, int, unsigned long long, void*))find("cuGetProcAddress_v2"))(
      name, found, version, flags, status);
}

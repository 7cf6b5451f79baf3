// SPDX-License-Identifier: Apache-2.0
// Calls through pointers in static data, which the loader fills in before anything runs.
#include "tests/workloads/check.h"

namespace {

using Allocate = CUresult (*)(CUdeviceptr*, size_t);
using Free = CUresult (*)(CUdeviceptr);
Allocate volatile g_allocate = cuMemAlloc;
Free volatile g_free = cuMemFree;

}  // namespace

int main() {
  UsePrimary();
  for (int i = 0; i < 10; ++i) {
    CUdeviceptr address = 0;
    CHECK(g_allocate(&address, 4096));
    CHECK(g_free(address));
  }
  return 0;
}

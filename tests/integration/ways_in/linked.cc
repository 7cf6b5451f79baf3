// SPDX-License-Identifier: Apache-2.0
// Linked to the driver; the build makes several of it. 10 allocations, 10 frees.
#include "tests/workloads/check.h"

int main() {
  UsePrimary();
  for (int i = 0; i < 10; ++i) {
    CUdeviceptr address = 0;
    CHECK(cuMemAlloc(&address, 4096));
    CHECK(cuMemFree(address));
  }
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// The two kinds of allocation that are compared: the same program allocates host or device memory.
#ifndef GPUTRACE_TESTS_BENCH_MEMORY_API_H_
#define GPUTRACE_TESTS_BENCH_MEMORY_API_H_

#include <cstddef>
#include <cstdint>

namespace gputrace::bench {

struct MemoryApi {
  uint64_t (*allocate)(size_t bytes);
  void (*release)(uint64_t address);
};

// malloc and free. Memory is not touched.
MemoryApi HostMemory();

// cuMemAlloc and cuMemFree, with a context made current. Ends the program if there is no device.
MemoryApi DeviceMemory();

}  // namespace gputrace::bench

#endif  // GPUTRACE_TESTS_BENCH_MEMORY_API_H_

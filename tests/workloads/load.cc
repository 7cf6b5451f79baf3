// SPDX-License-Identifier: Apache-2.0
// Allocates and frees in several threads until it is killed, or COUNT times each.
// usage: load THREADS COUNTERS_FILE [COUNT]
// Each completed call is counted in the file, which is mapped shared: two 64-bit counters
// (allocations, frees) per thread, 128 bytes apart. So a test knows what a killed process had done.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <thread>
#include <vector>

#include "tests/workloads/check.h"

namespace {

struct alignas(128) Counters {
  std::atomic<uint64_t> allocations;
  std::atomic<uint64_t> frees;
};

// Different stacks for different sizes.
template <int kDepth>
[[gnu::noinline]] CUdeviceptr Allocate(size_t size) {
  CUdeviceptr address = 0;
  if constexpr (kDepth == 0) {
    CHECK(cuMemAlloc(&address, size));
  } else {
    address = Allocate<kDepth - 1>(size);
  }
  asm volatile("" : "+r"(address));
  return address;
}

void Work(CUcontext context, Counters* counters, uint64_t count) {
  CHECK(cuCtxSetCurrent(context));
  std::vector<CUdeviceptr> live;
  for (uint64_t i = 0; i < count; ++i) {
    live.push_back(i % 3 == 0   ? Allocate<2>(512)
                   : i % 3 == 1 ? Allocate<9>(4096)
                                : Allocate<20>(70000));
    counters->allocations.fetch_add(1);
    if (live.size() >= 20) {
      const size_t victim = i % live.size();
      CHECK(cuMemFree(live[victim]));
      counters->frees.fetch_add(1);
      live[victim] = live.back();
      live.pop_back();
    }
  }
}

}  // namespace

int main(int argument_count, char** arguments) {
  if (argument_count < 3) return 2;
  const int threads = atoi(arguments[1]);
  const uint64_t count = argument_count > 3 ? strtoull(arguments[3], nullptr, 10) : UINT64_MAX;
  const int file = open(arguments[2], O_RDWR | O_CREAT, 0644);
  const size_t bytes = sizeof(Counters) * static_cast<size_t>(threads);
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) return 2;
  auto* counters =
      static_cast<Counters*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  CUcontext context = UsePrimary();
  std::vector<std::thread> workers;
  for (int i = 0; i < threads; ++i) workers.emplace_back(Work, context, &counters[i], count);
  for (std::thread& worker : workers) worker.join();
  return 0;
}

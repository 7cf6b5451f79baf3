// SPDX-License-Identifier: Apache-2.0
#include "interpose/stacks/slow_unwind.h"

#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include <atomic>
#include <cerrno>

#include "interpose/stacks/code_map.h"
#include "interpose/stacks/own_code.h"

namespace gputrace::interpose {
namespace {

// Frames between the program and here: the wrapper's thunk and body and the recorder's functions.
constexpr uint32_t kOwnFrames = 16;
constexpr uint32_t kMaxCapacity = 512;

// libunwind remembers what it learnt about addresses, too.
void FlushAfterUnloading() {
  static std::atomic<uint64_t> flushed{0};
  const uint64_t changes = CodeChanges(CodeState());
  if (flushed.load(std::memory_order_relaxed) == changes && !IsUnloading(CodeState())) return;
  unw_flush_cache(unw_local_addr_space, 0, 0);
  flushed.store(changes, std::memory_order_relaxed);
}

}  // namespace

uint32_t UnwindSlowly(uint64_t* pcs, uint32_t capacity) {
  const int saved_errno = errno;
  FlushAfterUnloading();
  if (capacity > kMaxCapacity) capacity = kMaxCapacity;
  void* frames[kMaxCapacity + kOwnFrames];
  const int found = unw_backtrace(frames, static_cast<int>(capacity + kOwnFrames));
  errno = saved_errno;
  const auto count = static_cast<uint32_t>(found < 0 ? 0 : found);
  uint32_t first = 0;
  while (first < count && IsOwnCode(reinterpret_cast<uint64_t>(frames[first]))) ++first;
  uint32_t depth = count - first;
  if (depth > capacity) depth = capacity;
  for (uint32_t i = 0; i < depth; ++i) pcs[i] = reinterpret_cast<uint64_t>(frames[first + i]);
  return depth;
}

}  // namespace gputrace::interpose

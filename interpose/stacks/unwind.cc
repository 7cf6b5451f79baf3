// SPDX-License-Identifier: Apache-2.0
#include "interpose/stacks/unwind.h"

#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include <cerrno>

// The bounds of this library, by the linker.
extern "C" const char __ehdr_start __attribute__((visibility("hidden")));
extern "C" const char _end __attribute__((visibility("hidden")));

namespace gputrace::interpose {
namespace {

// Frames between the program and here: the wrapper's thunk and body and the recorder's functions.
constexpr uint32_t kOwnFrames = 12;

bool IsOwn(uint64_t pc) {
  return pc >= reinterpret_cast<uint64_t>(&__ehdr_start) && pc < reinterpret_cast<uint64_t>(&_end);
}

uint64_t HashOf(const uint64_t* pcs, uint32_t depth) {
  uint64_t hash = 0x9e3779b97f4a7c15u ^ depth;
  for (uint32_t i = 0; i < depth; ++i) {
    hash = (hash ^ pcs[i]) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  }
  return hash == 0 ? 1 : hash;
}

}  // namespace

bool CaptureNative(CapturedStack* stack, uint32_t max_depth) {
  const int saved_errno = errno;
  void* frames[trace::kMaxStackDepth + kOwnFrames];
  const uint32_t wanted = max_depth + kOwnFrames;
  const int found = unw_backtrace(frames, static_cast<int>(wanted));
  errno = saved_errno;
  uint32_t first = 0;
  const auto count = static_cast<uint32_t>(found < 0 ? 0 : found);
  while (first < count && IsOwn(reinterpret_cast<uint64_t>(frames[first]))) ++first;
  uint32_t depth = count - first;
  stack->truncated = depth > max_depth || count == wanted;
  if (depth > max_depth) depth = max_depth;
  for (uint32_t i = 0; i < depth; ++i)
    stack->pcs[i] = reinterpret_cast<uint64_t>(frames[first + i]);
  stack->depth = depth;
  stack->hash = HashOf(stack->pcs, depth);
  return depth > 0;
}

}  // namespace gputrace::interpose

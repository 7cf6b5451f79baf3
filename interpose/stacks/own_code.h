// SPDX-License-Identifier: Apache-2.0
// Where this library is.
#ifndef GPUTRACE_INTERPOSE_STACKS_OWN_CODE_H_
#define GPUTRACE_INTERPOSE_STACKS_OWN_CODE_H_

#include <cstdint>

// The bounds of this library, by the linker.
extern "C" const char __ehdr_start __attribute__((visibility("hidden")));
extern "C" const char _end __attribute__((visibility("hidden")));

namespace gputrace::interpose {

inline bool IsOwnCode(uint64_t address) {
  return address - reinterpret_cast<uint64_t>(&__ehdr_start) <
         reinterpret_cast<uint64_t>(&_end) - reinterpret_cast<uint64_t>(&__ehdr_start);
}

}  // namespace gputrace::interpose

#endif  // GPUTRACE_INTERPOSE_STACKS_OWN_CODE_H_

// SPDX-License-Identifier: Apache-2.0
// What the user asked of the tracer through GPUTRACE_* variables.
#ifndef GPUTRACE_INTERPOSE_RECORD_OPTIONS_H_
#define GPUTRACE_INTERPOSE_RECORD_OPTIONS_H_

#include <cstdint>

namespace gputrace::interpose {

enum class StackMode : uint8_t { kOff, kNative };

struct OptionError {
  const char* name;   // of the variable
  const char* value;  // as the environment holds it
  const char* why;
};

struct Options {
  bool disabled = false;                  // GPUTRACE_DISABLE=1
  bool paused = false;                    // GPUTRACE_START=paused
  bool free_stacks = true;                // GPUTRACE_FREE_STACKS=on|off
  bool children = true;                   // GPUTRACE_CHILDREN=on|off
  StackMode stacks = StackMode::kNative;  // GPUTRACE_STACKS=off|native|python|mixed
  uint32_t depth = 128;                   // GPUTRACE_DEPTH, frames: 1 to kMaxStackDepth
  uint32_t ring_bytes = 1u << 20;  // GPUTRACE_RING, per thread: a power of two, 64 KiB to 64 MiB
  uint64_t max_bytes = 0;          // GPUTRACE_MAX_SIZE; 0: no limit
  const char* output = nullptr;    // GPUTRACE_OUT
  const char* log = nullptr;       // GPUTRACE_LOG

  static constexpr uint32_t kMaxErrors = 16;
  OptionError errors[kMaxErrors] = {};
  uint32_t error_count = 0;
};

// Reads the environment. A bad value leaves the default and is noted in `errors`. Values are
// pointers into the environment, which the program may change later: they are copied when a session
// starts.
Options ReadOptions(char** environment);

// `1048576`, `64KiB`, `2GiB`, `1M` …; false if it is not a size. Exposed for tests.
bool ParseSize(const char* text, uint64_t* bytes);

}  // namespace gputrace::interpose

#endif  // GPUTRACE_INTERPOSE_RECORD_OPTIONS_H_

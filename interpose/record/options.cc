// SPDX-License-Identifier: Apache-2.0
#include "interpose/record/options.h"

#include <cstddef>
#include <cstring>

#include "trace/format.h"

namespace gputrace::interpose {
namespace {

constexpr uint64_t kMinRingBytes = 64u << 10;
constexpr uint64_t kMaxRingBytes = 64u << 20;
constexpr char kPrefix[] = "GPUTRACE_";

bool Is(const char* a, const char* b) { return strcmp(a, b) == 0; }

// Applies one variable; returns why its value is bad, or null.
const char* Apply(const char* name, const char* value, Options* options);

const char* ApplyChoice(const char* value, const char* yes, const char* no, bool* out,
                        const char* why) {
  if (!Is(value, yes) && !Is(value, no)) return why;
  *out = Is(value, yes);
  return nullptr;
}

const char* ApplyStacks(const char* value, Options* options) {
  if (Is(value, "off")) {
    options->stacks = StackMode::kOff;
  } else if (Is(value, "native")) {
    options->stacks = StackMode::kNative;
  } else if (Is(value, "python") || Is(value, "mixed")) {
    return "this version records native stacks only";
  } else {
    return "must be off, native, python or mixed";
  }
  return nullptr;
}

const char* ApplyDepth(const char* value, Options* options) {
  uint64_t depth = 0;
  if (!ParseSize(value, &depth) || depth < 1 || depth > trace::kMaxStackDepth) {
    return "must be a number of frames from 1 to 256";
  }
  options->depth = static_cast<uint32_t>(depth);
  return nullptr;
}

const char* ApplyRing(const char* value, Options* options) {
  uint64_t bytes = 0;
  if (!ParseSize(value, &bytes) || bytes < kMinRingBytes || bytes > kMaxRingBytes ||
      (bytes & (bytes - 1)) != 0) {
    return "must be a power of two from 64KiB to 64MiB";
  }
  options->ring_bytes = static_cast<uint32_t>(bytes);
  return nullptr;
}

const char* ApplyMaxSize(const char* value, Options* options) {
  constexpr uint64_t kMinimum = 1u << 20;
  uint64_t bytes = 0;
  if (!ParseSize(value, &bytes) || bytes < kMinimum) return "must be a size of at least 1MiB";
  options->max_bytes = bytes;
  return nullptr;
}

const char* Apply(const char* name, const char* value, Options* options) {
  if (Is(name, "OUT")) {
    if (value[0] == '\0') return "is empty";
    options->output = value;
  } else if (Is(name, "LOG")) {
    if (value[0] == '\0') return "is empty";
    options->log = value;
  } else if (Is(name, "DISABLE")) {
    return ApplyChoice(value, "1", "0", &options->disabled, "must be 0 or 1");
  } else if (Is(name, "START")) {
    return ApplyChoice(value, "paused", "on", &options->paused, "must be on or paused");
  } else if (Is(name, "FREE_STACKS")) {
    return ApplyChoice(value, "on", "off", &options->free_stacks, "must be on or off");
  } else if (Is(name, "CHILDREN")) {
    return ApplyChoice(value, "on", "off", &options->children, "must be on or off");
  } else if (Is(name, "STACKS")) {
    return ApplyStacks(value, options);
  } else if (Is(name, "DEPTH")) {
    return ApplyDepth(value, options);
  } else if (Is(name, "RING")) {
    return ApplyRing(value, options);
  } else if (Is(name, "MAX_SIZE")) {
    return ApplyMaxSize(value, options);
  } else if (Is(name, "KEEP")) {
    return "the flight recorder is not in this version";
  } else if (Is(name, "FRAMEWORKS")) {
    if (!Is(value, "auto") && !Is(value, "off"))
      return "frameworks' events are not in this version";
  }
  // Other names belong to `gputrace run` and to later versions.
  return nullptr;
}

}  // namespace

bool ParseSize(const char* text, uint64_t* bytes) {
  uint64_t value = 0;
  const char* at = text;
  for (; *at >= '0' && *at <= '9'; ++at) {
    if (value > (UINT64_MAX - 9) / 10) return false;
    value = value * 10 + static_cast<uint64_t>(*at - '0');
  }
  if (at == text) return false;
  unsigned shift = 0;
  switch (*at) {
    case 'K':
    case 'k':
      shift = 10;
      break;
    case 'M':
      shift = 20;
      break;
    case 'G':
      shift = 30;
      break;
    case 'T':
      shift = 40;
      break;
    default:
      break;
  }
  if (shift != 0) {
    ++at;
    if (at[0] == 'i' && at[1] == 'B') at += 2;
  }
  if (*at != '\0' || (shift != 0 && value > UINT64_MAX >> shift)) return false;
  *bytes = value << shift;
  return true;
}

Options ReadOptions(char** environment) {
  Options options;
  for (char** variable = environment; variable != nullptr && *variable != nullptr; ++variable) {
    if (strncmp(*variable, kPrefix, sizeof(kPrefix) - 1) != 0) continue;
    const char* equals = strchr(*variable, '=');
    if (equals == nullptr) continue;
    char name[32] = {};
    const auto size = static_cast<size_t>(equals - *variable) - (sizeof(kPrefix) - 1);
    if (size >= sizeof(name)) continue;
    memcpy(name, *variable + sizeof(kPrefix) - 1, size);
    const char* why = Apply(name, equals + 1, &options);
    if (why != nullptr && options.error_count < Options::kMaxErrors) {
      options.errors[options.error_count++] = {*variable, equals + 1, why};
    }
  }
  return options;
}

}  // namespace gputrace::interpose

// SPDX-License-Identifier: Apache-2.0
// Variable-length integers: 7 bits a byte, least significant first, high bit set on all but the
// last.
#ifndef GPUTRACE_TRACE_VARINT_H_
#define GPUTRACE_TRACE_VARINT_H_

#include <cstddef>
#include <cstdint>

namespace gputrace::trace {

inline constexpr size_t kMaxVarintBytes = 10;

constexpr uint64_t ZigZag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}
constexpr int64_t UnZigZag(uint64_t value) {
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

// Writes at `out`, which must have kMaxVarintBytes of room; returns the end.
inline uint8_t* PutVarint(uint8_t* out, uint64_t value) {
  while (value >= 0x80) {
    *out++ = static_cast<uint8_t>(value | 0x80);
    value >>= 7;
  }
  *out++ = static_cast<uint8_t>(value);
  return out;
}

// Reads from [in, end); returns the end of the number, or null if it is cut off or too long.
inline const uint8_t* GetVarint(const uint8_t* in, const uint8_t* end, uint64_t* value) {
  uint64_t result = 0;
  for (unsigned shift = 0; in != end && shift < 64; shift += 7) {
    const uint8_t byte = *in++;
    if (shift == 63 && byte > 1) return nullptr;
    result |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) {
      *value = result;
      return in;
    }
  }
  return nullptr;
}

}  // namespace gputrace::trace

#endif  // GPUTRACE_TRACE_VARINT_H_

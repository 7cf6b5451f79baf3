// SPDX-License-Identifier: Apache-2.0
// CRC-32 with the polynomial of IEEE 802.3, reflected: what zlib.crc32 computes.
#ifndef GPUTRACE_TRACE_CRC32_H_
#define GPUTRACE_TRACE_CRC32_H_

#include <cstddef>
#include <cstdint>

namespace gputrace::trace {

// `seed` is the CRC of the bytes before, so that Crc32(b, n, Crc32(a, m)) is that of a and b
// joined.
uint32_t Crc32(const void* data, size_t size, uint32_t seed = 0);

}  // namespace gputrace::trace

#endif  // GPUTRACE_TRACE_CRC32_H_

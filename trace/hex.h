// SPDX-License-Identifier: Apache-2.0
// Bytes as lower-case hexadecimal text: build-ids and UUIDs.
#ifndef GPUTRACE_TRACE_HEX_H_
#define GPUTRACE_TRACE_HEX_H_

#include <string>
#include <string_view>

namespace gputrace::trace {

inline std::string ToHex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

}  // namespace gputrace::trace

#endif  // GPUTRACE_TRACE_HEX_H_

// SPDX-License-Identifier: Apache-2.0
// Quantities as people write and read them: sizes in IEC units, times, counts, shares.
#ifndef GPUTRACE_ANALYZER_REPORT_UNITS_H_
#define GPUTRACE_ANALYZER_REPORT_UNITS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace gputrace::report {

// `0 B`, `512 B`, `1.50 GiB`: three significant digits, in the largest unit that gives at least 1.
// Never more than 8 characters.
std::string FormatBytes(uint64_t bytes);

// The same with a sign: `+1.50 GiB`, `-2.00 MiB`, `0 B`.
std::string FormatBytesDelta(int64_t bytes);

// A size as a user writes it: `1048576`, `64KiB`, `1.5GiB`, `80 GiB`, `2G`. `K`, `M`, `G`, `T` and
// `P` alone mean the IEC unit, `KB`, `MB`, … the decimal one; the case of letters does not matter.
// Fractions of a byte are dropped. kInvalidArgument says what is wrong, without naming the flag.
absl::StatusOr<uint64_t> ParseBytes(std::string_view text);

// `850 ns`, `12.3 µs`, `4.56 ms`, `1.23 s`, `2 min 05 s`, `3 h 02 min`. Negative ones carry a `-`.
std::string FormatDuration(int64_t nanoseconds);

// `1,234,567`
std::string FormatCount(uint64_t count);

// `12.3 %` of `whole`; `-` where the whole is 0. What is not nothing never reads `0.0 %`, and what
// is not all never `100.0 %`.
std::string FormatShare(uint64_t part, uint64_t whole);

}  // namespace gputrace::report

#endif  // GPUTRACE_ANALYZER_REPORT_UNITS_H_

// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/units.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace gputrace::report {
namespace {

constexpr uint64_t kNanosecond = 1;
constexpr uint64_t kMicrosecond = 1000 * kNanosecond;
constexpr uint64_t kMillisecond = 1000 * kMicrosecond;
constexpr uint64_t kSecond = 1000 * kMillisecond;
constexpr uint64_t kMinute = 60 * kSecond;
constexpr uint64_t kHour = 60 * kMinute;

// Three significant digits of a value in [0, 1024).
std::string ThreeDigits(double value) {
  // 9.995 rounds to 10.0, not to 10.00.
  if (value < 9.995) return absl::StrFormat("%.2f", value);
  if (value < 99.95) return absl::StrFormat("%.1f", value);
  return absl::StrFormat("%.0f", value);
}

bool EqualsIgnoringCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return absl::ascii_tolower(x) == absl::ascii_tolower(y);
  });
}

std::string_view WithoutLeadingSpace(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(" \t"), text.size()));
}

// The factor of a unit's name, 0 if there is none of that name.
uint64_t UnitFactor(std::string_view name) {
  if (name.empty() || EqualsIgnoringCase(name, "B")) return 1;
  constexpr std::string_view kLetters = "KMGTPE";
  const size_t power = kLetters.find(absl::ascii_toupper(static_cast<unsigned char>(name[0])));
  if (power == std::string_view::npos) return 0;
  const std::string_view rest = name.substr(1);
  const bool decimal = EqualsIgnoringCase(rest, "B");
  if (!decimal && !rest.empty() && !EqualsIgnoringCase(rest, "iB")) return 0;
  uint64_t factor = 1;
  for (size_t i = 0; i <= power; ++i) factor *= decimal ? 1000 : 1024;
  return factor;
}

uint64_t Magnitude(int64_t value) {
  return value < 0 ? ~static_cast<uint64_t>(value) + 1 : static_cast<uint64_t>(value);
}

}  // namespace

std::string FormatBytes(uint64_t bytes) {
  constexpr std::array<const char*, 6> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return absl::StrCat(bytes, " B");
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  // 1023.7 would be written as 1024.
  while (value >= 1023.5 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return absl::StrCat(ThreeDigits(value), " ", kUnits[unit]);
}

std::string FormatBytesDelta(int64_t bytes) {
  if (bytes == 0) return "0 B";
  return absl::StrCat(bytes < 0 ? "-" : "+", FormatBytes(Magnitude(bytes)));
}

absl::StatusOr<uint64_t> ParseBytes(std::string_view text) {
  text = WithoutLeadingSpace(text);
  text = text.substr(0, text.find_last_not_of(" \t") + 1);
  const auto bad = [&] {
    return absl::InvalidArgumentError(
        absl::StrFormat("'%s' is not a size such as 512MiB or 1.5GiB", text));
  };
  const auto too_large = [&] {
    return absl::InvalidArgumentError(absl::StrFormat("'%s' is larger than 16 EiB", text));
  };
  using Wide = unsigned __int128;
  // More digits than a size can have would overflow the product below.
  constexpr Wide kMaxNumerator = Wide{1} << 67;
  Wide numerator = 0;
  uint64_t denominator = 1;
  bool digits = false;
  bool point = false;
  size_t at = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '.' && !point && digits) {
      point = true;
      continue;
    }
    if (!absl::ascii_isdigit(static_cast<unsigned char>(c))) break;
    digits = true;
    if (point && denominator >= 1'000'000'000) continue;  // finer than a byte of any unit in use
    numerator = numerator * 10 + static_cast<Wide>(c - '0');
    if (point) denominator *= 10;
    if (numerator > kMaxNumerator * denominator) return too_large();
  }
  const std::string_view unit = WithoutLeadingSpace(text.substr(at));
  const uint64_t factor = UnitFactor(unit);
  if (!digits || factor == 0 || (at > 0 && text[at - 1] == '.')) return bad();
  const Wide whole = numerator / denominator;
  if (whole > UINT64_MAX / factor) return too_large();
  const Wide bytes = whole * factor + numerator % denominator * factor / denominator;
  if (bytes > UINT64_MAX) return too_large();
  return static_cast<uint64_t>(bytes);
}

std::string FormatDuration(int64_t nanoseconds) {
  const uint64_t time = Magnitude(nanoseconds);
  const char* sign = nanoseconds < 0 ? "-" : "";
  const auto in = [&](uint64_t unit, const char* name) {
    const double value = static_cast<double>(time) / static_cast<double>(unit);
    return absl::StrCat(sign, ThreeDigits(value), " ", name);
  };
  // The limits are where three digits would be rounded up to the next unit.
  if (time < kMicrosecond) return absl::StrCat(sign, time, " ns");
  if (time < 999'500 * kNanosecond) return in(kMicrosecond, "µs");
  if (time < 999'500 * kMicrosecond) return in(kMillisecond, "ms");
  if (time < 59'950 * kMillisecond) return in(kSecond, "s");
  if (time < kHour - kSecond / 2) {
    const uint64_t seconds = (time + kSecond / 2) / kSecond;
    return absl::StrFormat("%s%d min %02d s", sign, seconds / 60, seconds % 60);
  }
  const uint64_t minutes = (time + kMinute / 2) / kMinute;
  return absl::StrFormat("%s%d h %02d min", sign, minutes / 60, minutes % 60);
}

std::string FormatCount(uint64_t count) {
  std::string digits = absl::StrCat(count);
  for (size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string FormatShare(uint64_t part, uint64_t whole) {
  if (whole == 0) return "-";
  const double percent = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  if (part > 0 && percent < 0.05) return "<0.1 %";
  if (part < whole && percent >= 99.95) return ">99.9 %";
  return absl::StrFormat("%.1f %%", percent);
}

}  // namespace gputrace::report

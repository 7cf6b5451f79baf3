// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/units.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

namespace gputrace::report {
namespace {

constexpr uint64_t kKiB = 1024;
constexpr uint64_t kMiB = 1024 * kKiB;
constexpr uint64_t kGiB = 1024 * kMiB;

TEST(FormatBytes, KeepsThreeDigitsInTheLargestUnit) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(1), "1 B");
  EXPECT_EQ(FormatBytes(1023), "1023 B");
  EXPECT_EQ(FormatBytes(kKiB), "1.00 KiB");
  EXPECT_EQ(FormatBytes(1536 * kMiB), "1.50 GiB");
  EXPECT_EQ(FormatBytes(12 * kMiB + 300 * kKiB), "12.3 MiB");
  EXPECT_EQ(FormatBytes(80 * kGiB), "80.0 GiB");
  EXPECT_EQ(FormatBytes(512 * kKiB), "512 KiB");
  EXPECT_EQ(FormatBytes(UINT64_MAX), "16.0 EiB");
}

TEST(FormatBytes, RoundsUpIntoTheNextUnit) {
  EXPECT_EQ(FormatBytes(kMiB - 1), "1.00 MiB");
  EXPECT_EQ(FormatBytes(10 * kKiB - 1), "10.0 KiB");
  EXPECT_EQ(FormatBytes(100 * kKiB - 1), "100 KiB");
  EXPECT_EQ(FormatBytes(kMiB - kKiB), "1023 KiB");
}

TEST(FormatBytes, FitsEightColumns) {
  for (unsigned shift = 0; shift < 64; ++shift) {
    const uint64_t power = uint64_t{1} << shift;
    for (const uint64_t bytes : {power - 1, power, power + power / 3}) {
      EXPECT_LE(FormatBytes(bytes).size(), 8u) << bytes;
    }
  }
}

TEST(FormatBytesDelta, CarriesASign) {
  EXPECT_EQ(FormatBytesDelta(0), "0 B");
  EXPECT_EQ(FormatBytesDelta(static_cast<int64_t>(kMiB)), "+1.00 MiB");
  EXPECT_EQ(FormatBytesDelta(-2 * static_cast<int64_t>(kGiB)), "-2.00 GiB");
  EXPECT_EQ(FormatBytesDelta(std::numeric_limits<int64_t>::min()), "-8.00 EiB");
}

TEST(ParseBytes, ReadsWhatPeopleWrite) {
  const auto is = [](const char* text, uint64_t bytes) {
    const auto parsed = ParseBytes(text);
    ASSERT_TRUE(parsed.ok()) << text << ": " << parsed.status();
    EXPECT_EQ(*parsed, bytes) << text;
  };
  is("0", 0);
  is("1048576", kMiB);
  is("1MiB", kMiB);
  is("80GiB", 80 * kGiB);
  is("80 GiB", 80 * kGiB);
  is(" 64KiB ", 64 * kKiB);
  is("64k", 64 * kKiB);
  is("2G", 2 * kGiB);
  is("1.5GiB", 1536 * kMiB);
  is("0.5KiB", 512);
  is("1.0000000001GiB", kGiB);
  is("3gib", 3 * kGiB);
  is("100B", 100);
  is("1kB", 1000);
  is("80GB", 80'000'000'000);
  is("1TiB", 1024 * kGiB);
  is("18446744073709551615", UINT64_MAX);
}

TEST(ParseBytes, RefusesEverythingElse) {
  for (const char* text : {"", " ", "GiB", "1XiB", "-1", "+1", "1..5GiB", "1.GiB", ".5GiB", "1iB",
                           "1GiBs", "0x10", "1e9", "1,5GiB", "1 2", "1GiB2"}) {
    const auto parsed = ParseBytes(text);
    EXPECT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(ParseBytes, NamesTheBadValue) {
  EXPECT_EQ(ParseBytes("many").status().message(), "'many' is not a size such as 512MiB or 1.5GiB");
}

TEST(ParseBytes, RefusesWhatDoesNotFit) {
  for (const char* text :
       {"18446744073709551616", "16EiB", "17179869184GiB", "99999999999999999999999999",
        "340282366920938463463374607431768211456"}) {
    EXPECT_EQ(ParseBytes(text).status().message(),
              std::string("'") + text + "' is larger than 16 EiB");
  }
  EXPECT_TRUE(ParseBytes("15.99EiB").ok());
}

TEST(FormatDuration, ChoosesAUnit) {
  EXPECT_EQ(FormatDuration(0), "0 ns");
  EXPECT_EQ(FormatDuration(850), "850 ns");
  EXPECT_EQ(FormatDuration(12'340), "12.3 µs");
  EXPECT_EQ(FormatDuration(999'499), "999 µs");
  EXPECT_EQ(FormatDuration(999'500), "1.00 ms");
  EXPECT_EQ(FormatDuration(4'560'000), "4.56 ms");
  EXPECT_EQ(FormatDuration(1'230'000'000), "1.23 s");
  EXPECT_EQ(FormatDuration(59'949'000'000), "59.9 s");
  EXPECT_EQ(FormatDuration(59'950'000'000), "1 min 00 s");
  EXPECT_EQ(FormatDuration(125'000'000'000), "2 min 05 s");
  EXPECT_EQ(FormatDuration(3599'600'000'000), "1 h 00 min");
  EXPECT_EQ(FormatDuration(10'920'000'000'000), "3 h 02 min");
  EXPECT_EQ(FormatDuration(-1'500'000'000), "-1.50 s");
}

TEST(FormatCount, GroupsDigits) {
  EXPECT_EQ(FormatCount(0), "0");
  EXPECT_EQ(FormatCount(999), "999");
  EXPECT_EQ(FormatCount(1000), "1,000");
  EXPECT_EQ(FormatCount(1'234'567), "1,234,567");
}

TEST(FormatShare, NeverHidesASmallPartOrASmallRest) {
  EXPECT_EQ(FormatShare(0, 0), "-");
  EXPECT_EQ(FormatShare(0, 100), "0.0 %");
  EXPECT_EQ(FormatShare(1, 8), "12.5 %");
  EXPECT_EQ(FormatShare(1, 1'000'000), "<0.1 %");
  EXPECT_EQ(FormatShare(999'999, 1'000'000), ">99.9 %");
  EXPECT_EQ(FormatShare(7, 7), "100.0 %");
}

}  // namespace
}  // namespace gputrace::report

// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "trace/clock_map.h"
#include "trace/column_model.h"
#include "trace/crc32.h"
#include "trace/varint.h"

namespace gputrace::trace {
namespace {

TEST(Crc32, HasTheCheckValueOfTheStandard) { EXPECT_EQ(Crc32("123456789", 9), 0xcbf43926u); }

TEST(Crc32, ContinuesOverParts) {
  const char* text = "the quick brown fox jumps over the lazy dog";
  const size_t size = strlen(text);
  for (size_t cut = 0; cut <= size; ++cut) {
    EXPECT_EQ(Crc32(text + cut, size - cut, Crc32(text, cut)), Crc32(text, size));
  }
}

TEST(Varint, RoundTripsAtEveryWidth) {
  uint8_t buffer[kMaxVarintBytes];
  for (unsigned bit = 0; bit < 64; ++bit) {
    for (const uint64_t value :
         {uint64_t{1} << bit, (uint64_t{1} << bit) - 1, ~uint64_t{0} >> bit}) {
      const uint8_t* end = PutVarint(buffer, value);
      uint64_t read = 0;
      EXPECT_EQ(GetVarint(buffer, end, &read), end);
      EXPECT_EQ(read, value);
    }
  }
}

TEST(Varint, RefusesWhatIsCutOrTooLong) {
  const uint8_t cut[] = {0x80, 0x80};
  const uint8_t too_long[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02};
  uint64_t value = 0;
  EXPECT_EQ(GetVarint(cut, cut + 2, &value), nullptr);
  EXPECT_EQ(GetVarint(cut, cut, &value), nullptr);
  EXPECT_EQ(GetVarint(too_long, too_long + 10, &value), nullptr);
}

TEST(ZigZag, PutsSmallMagnitudesFirst) {
  EXPECT_EQ(ZigZag(0), 0u);
  EXPECT_EQ(ZigZag(-1), 1u);
  EXPECT_EQ(ZigZag(1), 2u);
  for (const int64_t value : {INT64_MIN, INT64_MAX, int64_t{-77}, int64_t{77}}) {
    EXPECT_EQ(UnZigZag(ZigZag(value)), value);
  }
}

TEST(DurationCode, KeepsAQuarterOfAPowerOfTwo) {
  EXPECT_EQ(DurationCode(0), 0);
  EXPECT_EQ(DurationCode(7), 0);
  EXPECT_EQ(DurationUnits(DurationCode(8)), 8u);
  for (uint64_t units = 8; units < (uint64_t{1} << 40); units = units * 3 / 2 + 1) {
    const uint64_t rounded = DurationUnits(DurationCode(units));
    EXPECT_LE(rounded, units);
    EXPECT_GT(rounded + rounded / 4, units - units / 1000) << units;
  }
  EXPECT_LE(DurationUnits(DurationCode(~uint64_t{0})), ~uint64_t{0});
}

FileHeader HeaderWith(ClockSource clock, uint8_t shift, uint64_t ticks_per_second) {
  FileHeader header{};
  header.clock = static_cast<uint8_t>(clock);
  header.time_shift = shift;
  header.ticks_per_second = ticks_per_second;
  return header;
}

TEST(ClockMap, UsesTheEstimateWithoutAnchors) {
  const ClockMap clock(HeaderWith(ClockSource::kTsc, 8, 2'560'000'000));
  EXPECT_EQ(clock.ToNs(0), 0);
  EXPECT_EQ(clock.ToNs(10'000'000), 1'000'000'000);  // 2.56e9 ticks at 2.56 GHz
}

TEST(ClockMap, InterpolatesBetweenAnchorsAndIgnoresBadOnes) {
  ClockMap clock(HeaderWith(ClockSource::kTsc, 8, 1));
  clock.AddAnchor(1000, 100'000);
  clock.AddAnchor(900, 200'000);   // back in time
  clock.AddAnchor(2000, 100'000);  // stands still
  clock.AddAnchor(3000, 500'000);
  EXPECT_EQ(clock.ToNs(500), 50'000);
  EXPECT_EQ(clock.ToNs(1000), 100'000);
  EXPECT_EQ(clock.ToNs(2000), 300'000);
  EXPECT_EQ(clock.ToNs(250), 25'000);  // going back is right, too
  EXPECT_NEAR(static_cast<double>(clock.ToNs(6000)), 1'000'000, 1);
}

TEST(ClockMap, DoesNotOverflowOnDamagedTimes) {
  const ClockMap clock(HeaderWith(ClockSource::kMonotonic, 7, 0));
  EXPECT_GT(clock.ToNs(~uint64_t{0}), 0);
}

}  // namespace
}  // namespace gputrace::trace

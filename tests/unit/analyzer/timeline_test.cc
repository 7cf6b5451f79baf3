// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/timeline.h"

#include <algorithm>

#include "gmock/gmock.h"
#include "tests/unit/analyzer/ledger_fixture.h"

namespace gputrace {
namespace {

using analyses::StepSeries;
using analyses::TimelinePoint;
using ::testing::ElementsAre;
using ::testing::FieldsAre;

TEST(StepSeries, FewPointsAreKeptAsTheyAre) {
  StepSeries series(100);
  series.Set(0, 5);
  series.Set(2000, 9);
  series.Set(5000, 0);
  EXPECT_THAT(series.Points(),
              ElementsAre(FieldsAre(0, 5), FieldsAre(2000, 9), FieldsAre(5000, 0)));
}

TEST(StepSeries, SeveralStepsAtOneTimeStayInOrder) {
  StepSeries series(10);
  series.Set(1000, 5);
  series.Set(1000, 9);
  EXPECT_THAT(series.Points(), ElementsAre(FieldsAre(1000, 5), FieldsAre(1000, 9)));
  series.Set(1000, 2);
  series.Set(1000, 3);
  // The first is neither the lowest nor the highest nor the last any more.
  EXPECT_THAT(series.Points(),
              ElementsAre(FieldsAre(1000, 9), FieldsAre(1000, 2), FieldsAre(1000, 3)));
}

TEST(StepSeries, NoPointsNoSeries) { EXPECT_TRUE(StepSeries(10).Points().empty()); }

TEST(StepSeries, KeepsPeaksAndTroughsHoweverManyPointsThereAre) {
  StepSeries series(10);
  for (int64_t t = 0; t < 1'000'000; ++t) {
    series.Set(t * 1000, t == 777'777 ? 1'000'000 : t == 333'333 ? 1 : 500 + t % 7);
  }
  const std::vector<TimelinePoint> points = series.Points();
  EXPECT_LE(points.size(), 30u);
  const auto has = [&](int64_t time, uint64_t bytes) {
    return std::any_of(points.begin(), points.end(), [&](const TimelinePoint& point) {
      return point.time_ns == time && point.bytes == bytes;
    });
  };
  EXPECT_TRUE(has(777'777'000, 1'000'000));
  EXPECT_TRUE(has(333'333'000, 1));
  EXPECT_EQ(points.back().time_ns, 999'999'000);
  EXPECT_TRUE(std::is_sorted(points.begin(), points.end(),
                             [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; }));
}

TEST(StepSeries, ALateFirstPointCostsNoMoreThanAnEarlyOne) {
  StepSeries series(10);
  series.Set(int64_t{1} << 60, 7);
  EXPECT_THAT(series.Points(), ElementsAre(FieldsAre(int64_t{1} << 60, 7)));
}

class TimelineTest : public LedgerFixture {};

TEST_F(TimelineTest, HasASeriesPerDeviceAndAccountAndTheirSum) {
  analyses::Timeline timeline(analyses::Filter{}, 100);
  Observe(&timeline);
  Call("alloc", {100, 0x1000});
  Call("alloc_async", {20, 0, 0, 0x2000});
  Call("alloc_host", {7, 0x3000});
  context_ = 2;
  Call("alloc", {3, 0x4000});
  Intent("free", {0x1000});
  EXPECT_EQ(timeline.series().size(), 3u);
  EXPECT_EQ(timeline.total().peak, 123u);
  EXPECT_EQ(timeline.total().peak_time_ns, 40);
  EXPECT_EQ(timeline.total().current, 23u);
  EXPECT_EQ(timeline.series().at({1, ledger::Account::kDevice}).current, 3u);
}

}  // namespace
}  // namespace gputrace

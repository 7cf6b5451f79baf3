// SPDX-License-Identifier: Apache-2.0
// Tables, charts and JSON values.
#include "analyzer/report/chart.h"
#include "analyzer/report/json.h"
#include "analyzer/report/stacks.h"
#include "analyzer/report/table.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace gputrace::report {
namespace {

const Terminal kNarrow(40, false, false);

TEST(Table, ColumnsLineUp) {
  Table table({{"name", Align::kLeft}, {"size"}});
  table.AddRow({"a", "1 B"});
  table.AddRow({"longer", "10 B"});
  EXPECT_EQ(table.Render(kNarrow),
            "name    size\n"
            "a        1 B\n"
            "longer  10 B\n");
}

TEST(Table, TheFlexibleColumnGivesWay) {
  Table table({{"name", Align::kLeft, true}, {"size"}});
  table.AddRow({std::string(80, 'x'), "1 B"});
  const std::string text = table.Render(kNarrow);
  const std::string row = text.substr(text.find('\n') + 1);
  EXPECT_EQ(DisplayWidth(row.substr(0, row.size() - 1)), 40u);
  EXPECT_NE(row.find("…"), std::string::npos);
}

TEST(Chart, AShortPeakShows) {
  const std::string chart = RenderChart({{0, 1}, {500, 1000}, {501, 1}}, 1'000'000, kNarrow, 4);
  EXPECT_NE(chart.find("█"), std::string::npos);
  EXPECT_NE(chart.find("1000 B"), std::string::npos);
}

TEST(Chart, NothingIsAnEmptyChart) {
  const std::string chart = RenderChart({}, 0, kNarrow, 4);
  EXPECT_EQ(chart.find("█"), std::string::npos);
}

TEST(Json, NumbersStayNumbers) {
  EXPECT_EQ(Render(NumberOrText("12"), -1), "12\n");
  EXPECT_EQ(Render(NumberOrText("rank-1"), -1), "\"rank-1\"\n");
  EXPECT_EQ(Render(NumberOrText(""), -1), "null\n");
  EXPECT_EQ(Render(Json(uint64_t{18446744073709551615u}), -1), "18446744073709551615\n");
}

TEST(Json, BytesThatAreNoTextAreReplaced) {
  EXPECT_EQ(Render(Json("a\xff"), -1), "\"a\xef\xbf\xbd\"\n");
}

TEST(Frames, OneLineForPeople) {
  symbols::Frame frame;
  frame.function = "train(int)";
  frame.file = "/src/train.cc";
  frame.line = 12;
  frame.module = "/usr/bin/train";
  EXPECT_EQ(FrameText(frame), "train(int) at /src/train.cc:12 (train)");
  frame = {};
  frame.function = "libfoo.so+0x1234";
  frame.module = "/usr/lib/libfoo.so";
  EXPECT_EQ(FrameText(frame), "libfoo.so+0x1234");
  frame.function = "evil\x1b[31m";
  EXPECT_EQ(FrameText(frame), "evil\\x1b[31m (libfoo.so)");
}

}  // namespace
}  // namespace gputrace::report

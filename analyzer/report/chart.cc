// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/chart.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "analyzer/report/units.h"

namespace gputrace::report {
namespace {

constexpr const char* kEighths[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr size_t kLabelWidth = 8;

// The highest value in each of `columns` equal parts of the time.
std::vector<uint64_t> Columns(const std::vector<analyses::TimelinePoint>& points, int64_t end_ns,
                              size_t columns) {
  std::vector<uint64_t> highest(columns, 0);
  const double scale =
      static_cast<double>(columns) / static_cast<double>(std::max<int64_t>(end_ns, 1));
  const auto column_of = [&](int64_t time) {
    const auto column =
        static_cast<size_t>(static_cast<double>(std::max<int64_t>(time, 0)) * scale);
    return std::min(column, columns - 1);
  };
  uint64_t held = 0;
  size_t from = 0;
  for (const analyses::TimelinePoint& point : points) {
    const size_t to = column_of(point.time_ns);
    for (size_t i = from; i <= to; ++i) highest[i] = std::max(highest[i], held);
    held = point.bytes;
    from = to;
    highest[to] = std::max(highest[to], held);
  }
  for (size_t i = from; i < columns; ++i) highest[i] = std::max(highest[i], held);
  return highest;
}

}  // namespace

std::string RenderChart(const std::vector<analyses::TimelinePoint>& points, int64_t end_ns,
                        const Terminal& terminal, int rows) {
  const size_t columns =
      static_cast<size_t>(std::max(terminal.width(), Terminal::kMinimumWidth)) - kLabelWidth - 3;
  const std::vector<uint64_t> highest = Columns(points, end_ns, columns);
  const uint64_t top = *std::max_element(highest.begin(), highest.end());
  std::string text;
  for (int row = rows - 1; row >= 0; --row) {
    const bool labelled = row == rows - 1 || row == rows / 2 - 1;
    const uint64_t label = row == rows - 1 ? top : top / 2;
    absl::StrAppend(&text, PadLeft(labelled ? FormatBytes(label) : "", kLabelWidth), " │");
    std::string line;
    for (uint64_t value : highest) {
      // What is not nothing shows.
      const double cells = top == 0 ? 0
                                    : static_cast<double>(value) / static_cast<double>(top) *
                                          static_cast<double>(rows);
      double filled = std::clamp(cells - row, 0.0, 1.0);
      if (row == 0 && value > 0) filled = std::max(filled, 0.125);
      line += kEighths[static_cast<size_t>(std::lround(filled * 8))];
    }
    absl::StrAppend(&text, terminal.Paint(Style::kNumber, line), "\n");
  }
  absl::StrAppend(&text, PadLeft("0 B", kLabelWidth), " └");
  for (size_t i = 0; i < columns; ++i) text += "─";
  const std::string end = FormatDuration(end_ns);
  absl::StrAppend(&text, "\n", std::string(kLabelWidth + 2, ' '), "0", PadLeft(end, columns - 1),
                  "\n");
  return text;
}

}  // namespace gputrace::report

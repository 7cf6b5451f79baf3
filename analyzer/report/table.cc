// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace gputrace::report {
namespace {

constexpr size_t kGap = 2;
constexpr size_t kNarrowest = 8;  // a flexible column is not made narrower than this

std::string WithoutTrailingSpaces(std::string line) {
  const size_t last = line.find_last_not_of(' ');
  line.resize(last == std::string::npos ? 0 : last + 1);
  return line;
}

}  // namespace

std::vector<size_t> Table::Widths(size_t available) const {
  std::vector<size_t> widths;
  size_t sum = 0;
  for (size_t i = 0; i < columns_.size(); ++i) {
    size_t width = DisplayWidth(columns_[i].title);
    for (const std::vector<std::string>& row : rows_) width = std::max(width, DisplayWidth(row[i]));
    widths.push_back(width);
    sum += width + kGap;
  }
  sum -= kGap;
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (!columns_[i].flexible || sum <= available) continue;
    const size_t excess = sum - available;
    widths[i] =
        std::max(widths[i] > excess ? widths[i] - excess : 0, std::min(widths[i], kNarrowest));
  }
  return widths;
}

std::string Table::RenderRow(const std::vector<std::string>& cells,
                             const std::vector<size_t>& widths) const {
  std::string line;
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (i > 0) line.append(kGap, ' ');
    const std::string cell = FitWidth(cells[i], widths[i]);
    line +=
        columns_[i].align == Align::kLeft ? PadRight(cell, widths[i]) : PadLeft(cell, widths[i]);
  }
  return WithoutTrailingSpaces(std::move(line));
}

std::string Table::Render(const Terminal& terminal) const {
  const std::vector<size_t> widths = Widths(static_cast<size_t>(terminal.width()));
  std::vector<std::string> titles;
  titles.reserve(columns_.size());
  for (const Column& column : columns_) titles.push_back(column.title);
  std::string text = absl::StrCat(terminal.Paint(Style::kHeading, RenderRow(titles, widths)), "\n");
  for (const std::vector<std::string>& row : rows_) {
    absl::StrAppend(&text, RenderRow(row, widths), "\n");
  }
  return text;
}

}  // namespace gputrace::report

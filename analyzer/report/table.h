// SPDX-License-Identifier: Apache-2.0
// Rows of text in columns that line up and fit a terminal.
#ifndef GPUTRACE_ANALYZER_REPORT_TABLE_H_
#define GPUTRACE_ANALYZER_REPORT_TABLE_H_

#include <string>
#include <vector>

#include "analyzer/report/terminal.h"

namespace gputrace::report {

enum class Align { kLeft, kRight };

struct Column {
  std::string title;
  Align align = Align::kRight;
  // Gives way when the table is wider than the terminal; at most one column of a table.
  bool flexible = false;
};

// Cells must be safe to show (see EscapeForTerminal).
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  void AddRow(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }
  // Lines, each ended; the first has the titles.
  std::string Render(const Terminal& terminal) const;

 private:
  std::vector<size_t> Widths(size_t available) const;
  std::string RenderRow(const std::vector<std::string>& cells,
                        const std::vector<size_t>& widths) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace gputrace::report

#endif  // GPUTRACE_ANALYZER_REPORT_TABLE_H_

// SPDX-License-Identifier: Apache-2.0
// How text reaches a person: the width of the terminal, colour, and names from a trace made
// harmless.
#ifndef GPUTRACE_ANALYZER_REPORT_TERMINAL_H_
#define GPUTRACE_ANALYZER_REPORT_TERMINAL_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace gputrace::report {

enum class ColorMode { kAuto, kAlways, kNever };

// `auto`, `always` or `never`: the values of --color.
absl::StatusOr<ColorMode> ParseColorMode(std::string_view text);

// What a piece of text means; a terminal's theme gives it its colour.
enum class Style { kPlain, kHeading, kFaint, kGood, kWarning, kBad, kName, kNumber };

// What is known of one output stream. A value, cheap to copy.
class Terminal {
 public:
  static constexpr int kDefaultWidth = 100;  // where the output is no terminal
  static constexpr int kMinimumWidth = 40;

  // Asks the system about descriptor `fd`. Colour is used in mode kAuto if `fd` is a terminal,
  // NO_COLOR is unset or empty and TERM is not `dumb`. The width is the terminal's, or COLUMNS, or
  // kDefaultWidth.
  static Terminal Of(int fd, ColorMode mode);

  Terminal(int width, bool color, bool is_terminal)
      : width_(width), color_(color), is_terminal_(is_terminal) {}

  int width() const { return width_; }  // columns
  bool color() const { return color_; }
  bool is_terminal() const { return is_terminal_; }

  // `text` in a style; unchanged where there is no colour. `text` must be safe (see below).
  std::string Paint(Style style, std::string_view text) const;

 private:
  int width_;
  bool color_;
  bool is_terminal_;
};

// Text of unknown origin (paths, symbols, thread names, command lines) as it may be shown: control
// characters, escape sequences, bytes that are no UTF-8, and characters that hide or reorder others
// become visible escapes (`\n`, `\x1b`, `\u{202e}`). Everything from a trace goes through this
// first.
std::string EscapeForTerminal(std::string_view text);

// Columns that safe, unpainted UTF-8 text takes.
size_t DisplayWidth(std::string_view text);

// Which part of a text that is too long gives way to `…`. Paths are best cut at the start, names at
// the end.
enum class Cut { kStart, kMiddle, kEnd };

// `text`, cut to at most `columns`; whole characters only.
std::string FitWidth(std::string_view text, size_t columns, Cut cut = Cut::kEnd);

// Filled with spaces to `columns`, never cut.
std::string PadRight(std::string_view text, size_t columns);
std::string PadLeft(std::string_view text, size_t columns);

}  // namespace gputrace::report

#endif  // GPUTRACE_ANALYZER_REPORT_TERMINAL_H_

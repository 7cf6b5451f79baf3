// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "analyzer/report/utf8.h"

namespace gputrace::report {
namespace {

constexpr std::string_view kEllipsis = "…";
constexpr std::string_view kReset = "\x1b[0m";

// SGR sequences. The 16 basic colours follow the user's theme, so none is hard to read on his
// background.
std::string_view SequenceOf(Style style) {
  switch (style) {
    case Style::kPlain:
      return "";
    case Style::kHeading:
      return "\x1b[1m";
    case Style::kFaint:
      return "\x1b[2m";
    case Style::kGood:
      return "\x1b[32m";
    case Style::kWarning:
      return "\x1b[33m";
    case Style::kBad:
      return "\x1b[31m";
    case Style::kName:
      return "\x1b[36m";
    case Style::kNumber:
      return "\x1b[1m";
  }
  return "";
}

std::string_view Variable(const char* name) {
  const char* value = getenv(name);
  return value == nullptr ? std::string_view() : value;
}

int WidthOf(int fd, bool is_terminal) {
  int width = 0;
  winsize size{};
  if (is_terminal && ioctl(fd, TIOCGWINSZ, &size) == 0) width = size.ws_col;
  if (width <= 0) {
    const std::string_view columns = Variable("COLUMNS");
    std::from_chars(columns.data(), columns.data() + columns.size(), width);
  }
  if (width <= 0) width = Terminal::kDefaultWidth;
  return std::max(width, Terminal::kMinimumWidth);
}

std::string EscapeOf(char32_t value) {
  switch (value) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      return value < 0x80 ? absl::StrFormat("\\x%02x", static_cast<unsigned>(value))
                          : absl::StrFormat("\\u{%x}", static_cast<unsigned>(value));
  }
}

// The longest beginning of `text` that takes at most `columns`.
std::string_view Beginning(std::string_view text, size_t columns) {
  size_t used = 0;
  size_t at = 0;
  while (at < text.size()) {
    const CodePoint point = DecodeFirst(text.substr(at));
    used += point.valid ? static_cast<size_t>(ColumnsOf(point.value)) : 1;
    if (used > columns) break;
    at += point.bytes;
  }
  return text.substr(0, at);
}

// The longest end of `text` that takes at most `columns`.
std::string_view Ending(std::string_view text, size_t columns) {
  size_t excess = DisplayWidth(text);
  while (excess > columns) {
    const CodePoint point = DecodeFirst(text);
    excess -= point.valid ? static_cast<size_t>(ColumnsOf(point.value)) : 1;
    text.remove_prefix(point.bytes);
  }
  // A mark without the letter that it sat on would sit on the ellipsis.
  while (!text.empty()) {
    const CodePoint point = DecodeFirst(text);
    if (!point.valid || ColumnsOf(point.value) > 0) break;
    text.remove_prefix(point.bytes);
  }
  return text;
}

}  // namespace

absl::StatusOr<ColorMode> ParseColorMode(std::string_view text) {
  if (text == "auto") return ColorMode::kAuto;
  if (text == "always") return ColorMode::kAlways;
  if (text == "never") return ColorMode::kNever;
  return absl::InvalidArgumentError(absl::StrFormat("'%s' is not auto, always or never", text));
}

Terminal Terminal::Of(int fd, ColorMode mode) {
  const bool is_terminal = isatty(fd) == 1;
  const bool wanted = is_terminal && Variable("NO_COLOR").empty() && Variable("TERM") != "dumb";
  const bool color = mode == ColorMode::kAlways || (mode == ColorMode::kAuto && wanted);
  return Terminal(WidthOf(fd, is_terminal), color, is_terminal);
}

std::string Terminal::Paint(Style style, std::string_view text) const {
  const std::string_view sequence = SequenceOf(style);
  if (!color_ || sequence.empty() || text.empty()) return std::string(text);
  return absl::StrFormat("%s%s%s", sequence, text, kReset);
}

std::string EscapeForTerminal(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  while (!text.empty()) {
    const CodePoint point = DecodeFirst(text);
    if (!point.valid) {
      absl::StrAppendFormat(&safe, "\\x%02x", static_cast<unsigned char>(text[0]));
    } else if (IsUnsafeToShow(point.value)) {
      safe += EscapeOf(point.value);
    } else {
      safe += text.substr(0, point.bytes);
    }
    text.remove_prefix(point.bytes);
  }
  return safe;
}

size_t DisplayWidth(std::string_view text) {
  size_t columns = 0;
  while (!text.empty()) {
    const CodePoint point = DecodeFirst(text);
    columns += point.valid ? static_cast<size_t>(ColumnsOf(point.value)) : 1;
    text.remove_prefix(point.bytes);
  }
  return columns;
}

std::string FitWidth(std::string_view text, size_t columns, Cut cut) {
  if (DisplayWidth(text) <= columns) return std::string(text);
  if (columns == 0) return "";
  const size_t room = columns - 1;
  switch (cut) {
    case Cut::kStart:
      return absl::StrFormat("%s%s", kEllipsis, Ending(text, room));
    case Cut::kMiddle:
      return absl::StrFormat("%s%s%s", Beginning(text, room - room / 2), kEllipsis,
                             Ending(text, room / 2));
    case Cut::kEnd:
      break;
  }
  return absl::StrFormat("%s%s", Beginning(text, room), kEllipsis);
}

std::string PadRight(std::string_view text, size_t columns) {
  const size_t width = DisplayWidth(text);
  return std::string(text).append(columns > width ? columns - width : 0, ' ');
}

std::string PadLeft(std::string_view text, size_t columns) {
  const size_t width = DisplayWidth(text);
  return std::string(columns > width ? columns - width : 0, ' ').append(text);
}

}  // namespace gputrace::report

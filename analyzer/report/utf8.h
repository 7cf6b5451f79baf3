// SPDX-License-Identifier: Apache-2.0
// UTF-8, of which nothing is certain when it comes from a trace.
#ifndef GPUTRACE_ANALYZER_REPORT_UTF8_H_
#define GPUTRACE_ANALYZER_REPORT_UTF8_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gputrace::report {

struct CodePoint {
  char32_t value = 0;  // meaningless unless valid
  size_t bytes = 0;    // taken from the text: 1 to 4, and 1 if invalid; 0 at the end of the text
  bool valid = false;
};

// The first character of `text`. Overlong forms, surrogates and values above U+10FFFF are invalid.
CodePoint DecodeFirst(std::string_view text);

// Columns that a terminal gives a character: 0 for combining marks, 2 for East Asian wide ones and
// pictographs, else 1.
int ColumnsOf(char32_t value);

// Whether a character can move, hide or reorder text around it: controls, format characters,
// bidirectional overrides, line and paragraph separators, tags, private use and non-characters.
bool IsUnsafeToShow(char32_t value);

}  // namespace gputrace::report

#endif  // GPUTRACE_ANALYZER_REPORT_UTF8_H_

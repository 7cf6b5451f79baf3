// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/utf8.h"

#include <algorithm>
#include <iterator>

namespace gputrace::report {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

// Marks that take no column of their own (Unicode: Mn and Me), of the scripts in common use.
constexpr Range kCombining[] = {
    {0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x05bf, 0x05bf}, {0x05c1, 0x05c2},
    {0x0610, 0x061a}, {0x064b, 0x065f}, {0x0670, 0x0670}, {0x06d6, 0x06dc}, {0x0900, 0x0902},
    {0x093c, 0x093c}, {0x0941, 0x0948}, {0x094d, 0x094d}, {0x0e31, 0x0e31}, {0x0e34, 0x0e3a},
    {0x0e47, 0x0e4e}, {0x1ab0, 0x1ace}, {0x1dc0, 0x1dff}, {0x20d0, 0x20f0}, {0x302a, 0x302d},
    {0x3099, 0x309a}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f},
};

// Unicode's East_Asian_Width W and F, neighbouring blocks joined.
constexpr Range kWide[] = {
    {0x1100, 0x115f},   {0x231a, 0x231b},   {0x23e9, 0x23ec},   {0x2614, 0x2615},
    {0x26a1, 0x26a1},   {0x2705, 0x2705},   {0x2728, 0x2728},   {0x274c, 0x274c},
    {0x2e80, 0x303e},   {0x3041, 0x33ff},   {0x3400, 0x4dbf},   {0x4e00, 0xa4cf},
    {0xa960, 0xa97c},   {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe10, 0xfe19},
    {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},   {0x16fe0, 0x18aff},
    {0x1b000, 0x1b2fb}, {0x1f18e, 0x1f18e}, {0x1f191, 0x1f19a}, {0x1f200, 0x1f320},
    {0x1f32d, 0x1f64f}, {0x1f680, 0x1f6fc}, {0x1f7e0, 0x1f7eb}, {0x1f90c, 0x1f9ff},
    {0x1fa70, 0x1faff}, {0x20000, 0x3fffd},
};

constexpr Range kUnsafe[] = {
    {0x0000, 0x001f},    {0x007f, 0x009f},   {0x00ad, 0x00ad},   {0x061c, 0x061c},
    {0x180e, 0x180e},    {0x200b, 0x200f},   {0x2028, 0x202e},   {0x2060, 0x206f},
    {0xe000, 0xf8ff},    {0xfdd0, 0xfdef},   {0xfeff, 0xfeff},   {0xfff0, 0xfffb},
    {0xfffe, 0xffff},    {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
    {0xf0000, 0x10ffff},
};

template <size_t kSize>
bool Contains(const Range (&ranges)[kSize], char32_t value) {
  const auto* after =
      std::upper_bound(std::begin(ranges), std::end(ranges), value,
                       [](char32_t v, const Range& range) { return v < range.first; });
  return after != std::begin(ranges) && value <= std::prev(after)->last;
}

}  // namespace

CodePoint DecodeFirst(std::string_view text) {
  if (text.empty()) return {};
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  constexpr CodePoint kInvalid{0, 1, false};
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1, true};
  size_t bytes = 0;
  char32_t value = 0;
  char32_t least = 0;  // what needs this many bytes
  if (first >= 0xc2 && first <= 0xdf) {
    bytes = 2;
    value = first & 0x1f;
    least = 0x80;
  } else if ((first & 0xf0) == 0xe0) {
    bytes = 3;
    value = first & 0x0f;
    least = 0x800;
  } else if (first >= 0xf0 && first <= 0xf4) {
    bytes = 4;
    value = first & 0x07;
    least = 0x10000;
  } else {
    return kInvalid;
  }
  if (text.size() < bytes) return kInvalid;
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return kInvalid;
    value = value << 6 | (byte(i) & 0x3f);
  }
  const bool surrogate = value >= 0xd800 && value <= 0xdfff;
  if (value < least || value > 0x10ffff || surrogate) return kInvalid;
  return {value, bytes, true};
}

int ColumnsOf(char32_t value) {
  if (value < 0x300) return 1;
  if (Contains(kCombining, value)) return 0;
  return Contains(kWide, value) ? 2 : 1;
}

bool IsUnsafeToShow(char32_t value) {
  // The last two of each plane are non-characters.
  return Contains(kUnsafe, value) || (value & 0xfffe) == 0xfffe;
}

}  // namespace gputrace::report

// SPDX-License-Identifier: Apache-2.0
// Builds short texts (paths, facts, log lines) without allocation or libc's formatted printing.
#ifndef GPUTRACE_INTERPOSE_RECORD_TEXT_BUFFER_H_
#define GPUTRACE_INTERPOSE_RECORD_TEXT_BUFFER_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "trace/dictionary_encoder.h"

namespace gputrace::interpose {

// Always terminated; what does not fit is cut off and truncated() says so.
template <size_t kCapacity>
class TextBuffer {
 public:
  TextBuffer& Add(const char* text, size_t size) {
    if (size > kCapacity - size_) {
      size = kCapacity - size_;
      truncated_ = true;
    }
    memcpy(text_ + size_, text, size);
    size_ += size;
    text_[size_] = '\0';
    return *this;
  }
  TextBuffer& Add(const char* text) { return Add(text, strlen(text)); }
  TextBuffer& Add(char c) { return Add(&c, 1); }
  TextBuffer& AddNumber(uint64_t value) {
    char digits[20];
    size_t n = 0;
    do {
      digits[n++] = static_cast<char>('0' + value % 10);
      value /= 10;
    } while (value > 0);
    while (n > 0) Add(digits[--n]);
    return *this;
  }
  TextBuffer& AddHex(const void* data, size_t size) {
    const auto* bytes = static_cast<const uint8_t*>(data);
    for (size_t i = 0; i < size; ++i) {
      Add("0123456789abcdef"[bytes[i] >> 4]).Add("0123456789abcdef"[bytes[i] & 15]);
    }
    return *this;
  }
  void Clear() {
    size_ = 0;
    truncated_ = false;
    text_[0] = '\0';
  }

  const char* c_str() const { return text_; }
  size_t size() const { return size_; }
  bool truncated() const { return truncated_; }
  trace::Bytes bytes() const { return {text_, size_}; }

 private:
  char text_[kCapacity + 1] = {};
  size_t size_ = 0;
  bool truncated_ = false;
};

using PathBuffer = TextBuffer<4095>;

inline trace::Bytes BytesOf(const char* text) { return {text, strlen(text)}; }

}  // namespace gputrace::interpose

#endif  // GPUTRACE_INTERPOSE_RECORD_TEXT_BUFFER_H_

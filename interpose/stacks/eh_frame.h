// SPDX-License-Identifier: Apache-2.0
// The records of .eh_frame: a description of a function's frames (FDE) and what several of them
// have in common (CIE).
#ifndef GPUTRACE_INTERPOSE_STACKS_EH_FRAME_H_
#define GPUTRACE_INTERPOSE_STACKS_EH_FRAME_H_

#include <cstdint>
#include <cstring>

#include "interpose/stacks/cfi.h"

namespace gputrace::interpose {

inline constexpr uint64_t kReturnAddress = 16;  // its column (x86-64 ABI)

// Pointer encodings (DW_EH_PE_*).
inline constexpr uint8_t kPcRelative = 0x10;
inline constexpr uint8_t kDataRelative = 0x30;
inline constexpr uint8_t kUdata4 = 0x03;
inline constexpr uint8_t kSdata4 = 0x0b;
inline constexpr uint8_t kOmitted = 0xff;

// Reads on within [at, end). After a read past the end all reads give 0, and ok() is false.
class Reader {
 public:
  Reader(uint64_t at, uint64_t end) : at_(at), end_(end) {}

  bool ok() const { return ok_; }
  bool at_end() const { return at_ >= end_ || !ok_; }
  uint64_t position() const { return at_; }
  uint64_t end() const { return end_; }

  template <typename T>
  T Read() {
    T value{};
    if (!Has(sizeof(T))) return value;
    memcpy(&value, reinterpret_cast<const void*>(at_), sizeof(T));
    at_ += sizeof(T);
    return value;
  }
  uint64_t Uleb() {
    uint64_t value = 0;
    for (uint32_t shift = 0; shift < 64; shift += 7) {
      const auto byte = Read<uint8_t>();
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    ok_ = false;
    return 0;
  }
  int64_t Sleb() {
    uint64_t value = 0;
    for (uint32_t shift = 0; shift < 64;) {
      const auto byte = Read<uint8_t>();
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      shift += 7;
      if ((byte & 0x80) != 0) continue;
      if ((byte & 0x40) != 0 && shift < 64) value |= ~uint64_t{0} << shift;
      return static_cast<int64_t>(value);
    }
    ok_ = false;
    return 0;
  }
  // A pointer in one of the encodings that compilers and linkers use for code.
  uint64_t Pointer(uint8_t encoding) {
    const uint64_t here = at_;
    uint64_t value = 0;
    switch (encoding & 0x0f) {
      case 0x00:
      case 0x04:
      case 0x0c:
        value = Read<uint64_t>();
        break;
      case 0x02:
        value = Read<uint16_t>();
        break;
      case 0x0a:
        value = static_cast<uint64_t>(int64_t{Read<int16_t>()});
        break;
      case kUdata4:
        value = Read<uint32_t>();
        break;
      case kSdata4:
        value = static_cast<uint64_t>(int64_t{Read<int32_t>()});
        break;
      default:
        ok_ = false;
    }
    if ((encoding & 0x70) == kPcRelative) return value + here;
    if ((encoding & 0x70) != 0) ok_ = false;
    return value;
  }
  void Skip(uint64_t size) {
    if (Has(size)) at_ += size;
  }

 private:
  bool Has(uint64_t size) {
    ok_ = ok_ && size <= end_ - at_ && at_ <= end_;
    return ok_;
  }

  uint64_t at_;
  uint64_t end_;
  bool ok_ = true;
};

struct Cie {
  uint64_t code_align = 0;
  int64_t data_align = 0;
  uint8_t pointer_encoding = 0;
  bool has_augmentation_data = false;
  bool is_signal = false;
  Reader instructions{0, 0};
};

struct Fde {
  Cie cie;
  uint64_t start = 0;
  uint64_t size = 0;
  Reader instructions{0, 0};
};

enum class FdeSearch : uint8_t { kFound, kAbsent, kDamaged };

// Looks the function that holds `address` up in the sorted table that linkers add (.eh_frame_hdr).
FdeSearch FindFde(const CodeModule& module, uint64_t address, Fde* fde);

}  // namespace gputrace::interpose

#endif  // GPUTRACE_INTERPOSE_STACKS_EH_FRAME_H_

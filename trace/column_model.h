// SPDX-License-Identifier: Apache-2.0
// What encoder and decoder of event blocks both know: the predictions that make a repetitive
// timeline cost a few bits an event. Both sides run the same model over the same records, so that
// only what the model got wrong has to be written. It starts anew in each block: a block can be
// decoded alone.
//
// Prediction works on *sites*. A record's shape is everything about it that rarely varies (kind,
// entry, result, thread, context, number of operands); a site is a shape with its stacks. Programs
// loop, so the site that followed the current one last time is likely to follow again, and a site's
// operands are likely what they were. Addresses are predicted as described at OpenCode and
// CloseCode.
#ifndef GPUTRACE_TRACE_COLUMN_MODEL_H_
#define GPUTRACE_TRACE_COLUMN_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "trace/format.h"

namespace gputrace::trace {

// A timeline record as it is stored: times in units of the file, stacks and threads as dictionary
// ids.
struct PackedRecord {
  RecordKind kind = RecordKind::kCall;
  uint8_t flags = 0;
  uint16_t entry = 0;
  int32_t result = 0;
  uint32_t thread = 0;
  uint32_t context = 0;
  uint32_t native_stack = 0;
  uint32_t python_stack = 0;
  uint64_t time = 0;
  uint8_t duration = 0;  // DurationCode()
  uint32_t count = 0;    // of operands, at most kMaxOperands
  const uint64_t* operands = nullptr;
};

// Durations are stored coarsely, since their noise would cost more than all the rest: 0 below 8
// time units, then four steps per power of two.
constexpr uint8_t DurationCode(uint64_t units) {
  if (units < 8) return 0;
  const unsigned log2 = 63u - static_cast<unsigned>(__builtin_clzll(units));
  const unsigned code = 1 + 4 * (log2 - 3) + static_cast<unsigned>((units >> (log2 - 2)) & 3);
  return static_cast<uint8_t>(code);
}
constexpr uint64_t DurationUnits(uint8_t code) {
  if (code == 0) return 0;
  const unsigned log2 = 3u + (code - 1u) / 4;
  if (log2 > 63) return ~uint64_t{0};
  return (uint64_t{4} + (code - 1u) % 4) << (log2 - 2);
}

struct OperandHint {
  Role role = Role::kValue;
  Predictor predictor = Predictor::kLast;
};

// What the encoder must know of an entry: its operands' roles and predictors. Operands beyond
// `count` (repeated groups) are plain values. A block says for each of its shapes what was used: it
// can be decoded without any other part of the file.
struct EntryHints {
  static constexpr uint32_t kMax = 24;
  uint8_t count = 0;
  uint8_t in_count = 0;  // completions carry the out operands only
  OperandHint operands[kMax];

  OperandHint At(RecordKind kind, uint32_t position) const {
    const uint32_t i = kind == RecordKind::kCompletion ? position + in_count : position;
    return i < count ? operands[i] : OperandHint{};
  }
};

// Columns of an event block, in the order in which they are stored. Operands go to one column per
// role.
enum : uint32_t {
  kColumnDefinitions = 0,  // shapes and sites at their first use
  kColumnSites = 1,
  kColumnTimes = 2,
  kColumnDurations = 3,
  kColumnOperands = 4,                  // + Role
  kColumnCount = kColumnOperands + 32,  // room for roles of later versions
};
static_assert(kLastRole < 32);

// A hint as blocks carry it.
constexpr uint8_t PackHint(OperandHint hint) {
  return static_cast<uint8_t>(static_cast<unsigned>(hint.role) |
                              static_cast<unsigned>(hint.predictor) << 5);
}
inline constexpr uint32_t kSizeColumn = kColumnOperands + static_cast<uint32_t>(Role::kSize);
constexpr uint32_t ColumnOfHint(uint8_t packed) { return kColumnOperands + (packed & 31u); }
inline constexpr uint64_t kMaxHint = 31 | static_cast<uint64_t>(Predictor::kClose) << 5;
constexpr Predictor PredictorOfHint(uint8_t packed) { return static_cast<Predictor>(packed >> 5); }

// Codes of the sites column; a greater code is kSiteFirst + the site's number.
enum SiteCode : uint64_t {
  kSitePredicted = 0,  // the one that followed the previous site last time
  kSiteNew = 1,        // its definition is next in the definitions column
  kSiteFirst = 2,
};

// An address or handle that comes into being.
enum OpenCode : uint64_t {
  kOpenSame = 0,    // what this site got last time
  kOpenReused = 1,  // what was last closed of this size
  kOpenStride = 2,  // zigzag of (value - last opened) / 512 follows
  kOpenDelta = 3,   // zigzag of (value - last opened) follows
};

// An address or handle that ends.
enum CloseCode : uint64_t {
  kCloseSameAge = 0,  // as many openings ago as this site's last one
  kCloseAge = 1,      // its age in openings follows
  kCloseSame = 2,     // not opened in this block: what this site closed last time
  kCloseStride = 3,   // zigzag of (value - last closed) / 512 follows
  kCloseDelta = 4,    // zigzag of (value - last closed) follows
};
inline constexpr uint64_t kAddressStride = 512;

class ColumnModel {
 public:
  static constexpr uint32_t kMaxShapes = 512;
  static constexpr uint32_t kMaxSites = 4096;
  static constexpr uint32_t kMaxOpens = 2 * kMaxRecordsPerBlock;
  static constexpr uint32_t kSlots = 12;  // operands that a site remembers; the last slot is shared

  struct Shape {
    RecordKind kind;
    uint8_t flags;
    uint16_t entry;
    int32_t result;
    uint32_t thread;
    uint32_t context;
    uint32_t count;
    uint32_t last_site;           // + 1; whose operands a new site of this shape starts from
    uint8_t hints[kMaxOperands];  // PackHint() of each operand
    bool operator==(const Shape& o) const {
      return kind == o.kind && flags == o.flags && entry == o.entry && result == o.result &&
             thread == o.thread && context == o.context && count == o.count;
    }
  };
  struct Site {
    uint32_t shape;
    uint32_t native_stack;
    uint32_t python_stack;
    uint32_t successor;  // + 1
    uint32_t close_age;
    uint64_t last[kSlots];
  };
  struct Open {
    uint64_t value;
    uint64_t size;
  };

  // All state lives in the object, about 2.2 MiB: the owner decides where. Reset before first use.
  void Reset() { memset(static_cast<void*>(this), 0, sizeof(*this)); }

  static uint32_t Slot(uint32_t position) { return position < kSlots ? position : kSlots - 1; }

  uint32_t AddShape(const Shape& shape) {
    shapes[shape_count] = shape;
    shapes[shape_count].last_site = 0;
    return shape_count++;
  }
  uint32_t AddSite(uint32_t shape, uint32_t native_stack, uint32_t python_stack) {
    Site& site = sites[site_count];
    if (shapes[shape].last_site != 0) {
      site = sites[shapes[shape].last_site - 1];
    }
    site.shape = shape;
    site.native_stack = native_stack;
    site.python_stack = python_stack;
    site.successor = 0;
    return site_count++;
  }
  // The site that is predicted to come now: its number + 1, or 0.
  uint32_t PredictedSite() const {
    return previous_site == 0 ? 0 : sites[previous_site - 1].successor;
  }
  void EnterSite(uint32_t site) {
    if (previous_site != 0) sites[previous_site - 1].successor = site + 1;
    previous_site = site + 1;
    shapes[sites[site].shape].last_site = site + 1;
  }

  uint64_t& ReuseOf(uint64_t size) {
    return reuse_[(size * 0x9e3779b97f4a7c15u) >> (64 - kReuseBits)];
  }
  void NoteOpen(uint64_t value, uint64_t size) {
    last_opened = value;
    if (open_count == kMaxOpens) return;
    opens[open_count] = {value, size};
    AddressSlot& slot = FindSlot(value);
    slot.value = value;
    slot.used = 1;
    slot.open = ++open_count;
  }
  // The opening that `value` came from: its number + 1, or 0 if it is not from this block.
  uint32_t OpenOf(uint64_t value) { return FindSlot(value).open; }
  void NoteClose(uint64_t value, uint32_t open) {
    last_closed = value;
    if (open == 0) return;
    ReuseOf(opens[open - 1].size) = value;
    AddressSlot& slot = FindSlot(value);
    if (slot.open == open) slot.open = 0;
  }

  uint32_t shape_count;
  uint32_t site_count;
  uint32_t previous_site;  // + 1
  uint32_t open_count;
  uint64_t last_opened;
  uint64_t last_closed;
  uint64_t last_native;  // of the last site that was defined
  uint64_t last_python;
  Shape shapes[kMaxShapes];
  Site sites[kMaxSites];
  Open opens[kMaxOpens];

 private:
  static constexpr unsigned kReuseBits = 10;
  static constexpr unsigned kAddressBits = 16;  // twice as many slots as openings
  struct AddressSlot {
    uint64_t value;
    uint32_t open;  // + 1; 0 in a used slot: closed
    uint32_t used;
  };

  // There are more slots than openings, and only openings take one, so that the search ends.
  AddressSlot& FindSlot(uint64_t value) {
    uint64_t i = (value * 0x9e3779b97f4a7c15u) >> (64 - kAddressBits);
    while (addresses_[i].used != 0 && addresses_[i].value != value) {
      i = (i + 1) & ((1u << kAddressBits) - 1);
    }
    return addresses_[i];
  }

  uint64_t reuse_[1u << kReuseBits];
  AddressSlot addresses_[1u << kAddressBits];
};

}  // namespace gputrace::trace

#endif  // GPUTRACE_TRACE_COLUMN_MODEL_H_

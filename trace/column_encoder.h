// SPDX-License-Identifier: Apache-2.0
// Turns timeline records into the payload of an event block. Allocation-free: for the traced
// process.
#ifndef GPUTRACE_TRACE_COLUMN_ENCODER_H_
#define GPUTRACE_TRACE_COLUMN_ENCODER_H_

#include <cstddef>
#include <cstdint>

#include "trace/column_model.h"
#include "trace/varint.h"

namespace gputrace::trace {

// The part [from, to) of a ring that a block holds.
struct RingRange {
  uint32_t ring_id;
  uint64_t from;
  uint64_t to;
};

// About 6 MiB, to be placed in zeroed memory of the owner's (it has no constructor); not
// thread-safe.
class ColumnEncoder {
 public:
  static constexpr uint32_t kMaxRanges = 1024;
  // Enough for the payload of any block that this class makes.
  static constexpr size_t kMaxPayloadBytes =
      size_t{kColumnCount} * (64u << 10) + kMaxRanges * 25 + kColumnCount * 4 + 16;

  // `hints` is indexed by entry id and must outlive the encoder.
  void Start(const EntryHints* hints, uint32_t hint_count) {
    StartInZeroedMemory(hints, hint_count);
    Restart();
  }
  // For an object in memory that was never touched: nor is most of it now.
  void StartInZeroedMemory(const EntryHints* hints, uint32_t hint_count) {
    hints_ = hints;
    hint_count_ = hint_count;
  }
  // Begins the next block.
  void Restart();
  bool empty() const { return records_ == 0; }
  uint32_t records() const { return records_; }
  uint64_t first_time() const { return first_time_; }
  uint64_t last_time() const { return last_time_; }

  // False if the block is full: finish it, start the next and add again. Times must not go back;
  // one that does is taken as the time before.
  bool Add(const PackedRecord& record);

  // Writes the payload to `out` (kMaxPayloadBytes of room) and returns its size.
  size_t Finish(const RingRange* ranges, uint32_t range_count, uint8_t* out) const;

 private:
  static constexpr size_t kColumnBytes = 64u << 10;
  static constexpr unsigned kSiteBits = 13;   // twice the sites
  static constexpr unsigned kShapeBits = 10;  // twice the shapes

  void Put(uint32_t column, uint64_t value) {
    uint8_t* at = columns_[column] + used_[column];
    used_[column] += static_cast<uint32_t>(PutVarint(at, value) - at);
  }
  bool HasRoom();
  uint32_t FindShape(const ColumnModel::Shape& shape, bool* is_new);
  uint32_t FindSite(const PackedRecord& record, bool* is_new);
  void PutSite(const PackedRecord& record);
  void PutShape(ColumnModel::Shape* shape);
  void PutOperands(const PackedRecord& record, ColumnModel::Site* site);
  void PutOpen(uint32_t column, uint64_t value, uint64_t size, uint64_t last);
  void PutClose(uint32_t column, uint64_t value, uint64_t last, ColumnModel::Site* site);

  const EntryHints* hints_;
  uint32_t hint_count_;
  uint32_t records_;
  uint64_t first_time_;
  uint64_t last_time_;
  uint32_t sure_records_;  // so many more fit whatever they are like
  uint32_t used_[kColumnCount];
  uint16_t site_slots_[1u << kSiteBits];    // + 1
  uint16_t shape_slots_[1u << kShapeBits];  // + 1
  ColumnModel model_;
  uint8_t columns_[kColumnCount][kColumnBytes];
};

}  // namespace gputrace::trace

#endif  // GPUTRACE_TRACE_COLUMN_ENCODER_H_

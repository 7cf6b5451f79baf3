// SPDX-License-Identifier: Apache-2.0
#include "trace/column_encoder.h"

namespace gputrace::trace {
namespace {

// Most that one record can add to one column: all its operands, an escape code before each.
constexpr size_t kMaxRecordBytes = (kMaxOperands + 1) * (kMaxVarintBytes + 1);
constexpr EntryHints kNoHints{};

uint64_t Mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 29);
}

}  // namespace

void ColumnEncoder::Restart() {
  records_ = 0;
  sure_records_ = 0;
  first_time_ = last_time_ = 0;
  memset(used_, 0, sizeof(used_));
  memset(site_slots_, 0, sizeof(site_slots_));
  memset(shape_slots_, 0, sizeof(shape_slots_));
  model_.Reset();
}

bool ColumnEncoder::HasRoom() {
  if (records_ == kMaxRecordsPerBlock) return false;
  if (model_.site_count == ColumnModel::kMaxSites) return false;
  if (model_.shape_count == ColumnModel::kMaxShapes) return false;
  // Looking at all columns for each record would cost more than encoding it.
  if (sure_records_ == 0) {
    size_t fullest = 0;
    for (const uint32_t used : used_) fullest = used > fullest ? used : fullest;
    sure_records_ = static_cast<uint32_t>((kColumnBytes - fullest) / kMaxRecordBytes);
    if (sure_records_ == 0) return false;
  }
  --sure_records_;
  return true;
}

bool ColumnEncoder::Add(const PackedRecord& record) {
  if (!HasRoom()) return false;
  if (records_ == 0) first_time_ = last_time_ = record.time;
  ++records_;
  PutSite(record);
  const uint64_t time = record.time < last_time_ ? last_time_ : record.time;
  Put(kColumnTimes, time - last_time_);
  last_time_ = time;
  columns_[kColumnDurations][used_[kColumnDurations]++] = record.duration;
  PutOperands(record, &model_.sites[model_.previous_site - 1]);
  return true;
}

uint32_t ColumnEncoder::FindShape(const ColumnModel::Shape& shape, bool* is_new) {
  uint64_t hash = Mix(static_cast<uint64_t>(shape.kind) | uint64_t{shape.flags} << 8, shape.entry);
  hash = Mix(hash, static_cast<uint32_t>(shape.result) | uint64_t{shape.thread} << 32);
  hash = Mix(hash, shape.context | uint64_t{shape.count} << 32);
  uint32_t i = static_cast<uint32_t>(hash >> (64 - kShapeBits));
  for (; shape_slots_[i] != 0; i = (i + 1) & ((1u << kShapeBits) - 1)) {
    if (model_.shapes[shape_slots_[i] - 1] == shape) {
      *is_new = false;
      return shape_slots_[i] - 1u;
    }
  }
  *is_new = true;
  const uint32_t number = model_.AddShape(shape);
  shape_slots_[i] = static_cast<uint16_t>(number + 1);
  return number;
}

uint32_t ColumnEncoder::FindSite(const PackedRecord& record, bool* is_new) {
  const ColumnModel::Shape shape{record.kind,
                                 record.flags,
                                 record.entry,
                                 record.result,
                                 record.thread,
                                 record.context,
                                 record.count,
                                 0,
                                 {}};
  bool new_shape = false;
  const uint32_t shape_number = FindShape(shape, &new_shape);
  const uint64_t hash =
      Mix(Mix(shape_number, record.native_stack), uint64_t{record.python_stack} << 1);
  uint32_t i = static_cast<uint32_t>(hash >> (64 - kSiteBits));
  for (; site_slots_[i] != 0; i = (i + 1) & ((1u << kSiteBits) - 1)) {
    const ColumnModel::Site& site = model_.sites[site_slots_[i] - 1];
    if (site.shape == shape_number && site.native_stack == record.native_stack &&
        site.python_stack == record.python_stack) {
      *is_new = false;
      return site_slots_[i] - 1u;
    }
  }
  *is_new = true;
  Put(kColumnDefinitions, new_shape ? 0 : shape_number + 1);
  if (new_shape) PutShape(&model_.shapes[shape_number]);
  Put(kColumnDefinitions, ZigZag(static_cast<int64_t>(record.native_stack - model_.last_native)));
  Put(kColumnDefinitions, ZigZag(static_cast<int64_t>(record.python_stack - model_.last_python)));
  model_.last_native = record.native_stack;
  model_.last_python = record.python_stack;
  const uint32_t number = model_.AddSite(shape_number, record.native_stack, record.python_stack);
  site_slots_[i] = static_cast<uint16_t>(number + 1);
  return number;
}

void ColumnEncoder::PutShape(ColumnModel::Shape* shape) {
  Put(kColumnDefinitions, static_cast<uint64_t>(shape->kind));
  Put(kColumnDefinitions, shape->flags);
  Put(kColumnDefinitions, shape->entry);
  Put(kColumnDefinitions, ZigZag(shape->result));
  Put(kColumnDefinitions, shape->thread);
  Put(kColumnDefinitions, shape->context);
  Put(kColumnDefinitions, shape->count);
  const EntryHints& hints = shape->entry < hint_count_ ? hints_[shape->entry] : kNoHints;
  for (uint32_t i = 0; i < shape->count; ++i) {
    shape->hints[i] = PackHint(hints.At(shape->kind, i));
    Put(kColumnDefinitions, shape->hints[i]);
  }
}

void ColumnEncoder::PutSite(const PackedRecord& record) {
  const uint32_t predicted = model_.PredictedSite();
  bool is_new = false;
  const uint32_t site = FindSite(record, &is_new);
  if (is_new) {
    Put(kColumnSites, kSiteNew);
  } else if (site + 1 == predicted) {
    Put(kColumnSites, kSitePredicted);
  } else {
    Put(kColumnSites, kSiteFirst + site);
  }
  model_.EnterSite(site);
}

void ColumnEncoder::PutOperands(const PackedRecord& record, ColumnModel::Site* site) {
  const uint8_t* hints = model_.shapes[site->shape].hints;
  uint64_t size = 0;
  for (uint32_t i = 0; i < record.count; ++i) {
    const uint32_t column = ColumnOfHint(hints[i]);
    const uint64_t value = record.operands[i];
    uint64_t& last = site->last[ColumnModel::Slot(i)];
    switch (PredictorOfHint(hints[i])) {
      case Predictor::kOpen:
        PutOpen(column, value, size, last);
        break;
      case Predictor::kClose:
        PutClose(column, value, last, site);
        break;
      case Predictor::kLast:
        Put(column, ZigZag(static_cast<int64_t>(value - last)));
        break;
    }
    if (column == kSizeColumn && size == 0) size = value;
    last = value;
  }
}

void ColumnEncoder::PutOpen(uint32_t column, uint64_t value, uint64_t size, uint64_t last) {
  const auto delta = static_cast<int64_t>(value - model_.last_opened);
  if (value == last) {
    Put(column, kOpenSame);
  } else if (value == model_.ReuseOf(size)) {
    Put(column, kOpenReused);
  } else if (delta % static_cast<int64_t>(kAddressStride) == 0) {
    Put(column, kOpenStride);
    Put(column, ZigZag(delta / static_cast<int64_t>(kAddressStride)));
  } else {
    Put(column, kOpenDelta);
    Put(column, ZigZag(delta));
  }
  model_.NoteOpen(value, size);
}

void ColumnEncoder::PutClose(uint32_t column, uint64_t value, uint64_t last,
                             ColumnModel::Site* site) {
  const uint32_t open = model_.OpenOf(value);
  const auto delta = static_cast<int64_t>(value - model_.last_closed);
  if (open != 0) {
    const uint32_t age = model_.open_count - open;
    if (age == site->close_age) {
      Put(column, kCloseSameAge);
    } else {
      Put(column, kCloseAge);
      Put(column, age);
      site->close_age = age;
    }
  } else if (value == last) {
    Put(column, kCloseSame);
  } else if (delta % static_cast<int64_t>(kAddressStride) == 0) {
    Put(column, kCloseStride);
    Put(column, ZigZag(delta / static_cast<int64_t>(kAddressStride)));
  } else {
    Put(column, kCloseDelta);
    Put(column, ZigZag(delta));
  }
  model_.NoteClose(value, open);
}

size_t ColumnEncoder::Finish(const RingRange* ranges, uint32_t range_count, uint8_t* out) const {
  uint8_t* at = PutVarint(out, range_count);
  for (uint32_t i = 0; i < range_count; ++i) {
    at = PutVarint(at, ranges[i].ring_id);
    at = PutVarint(at, ranges[i].from);
    at = PutVarint(at, ranges[i].to - ranges[i].from);
  }
  at = PutVarint(at, kColumnCount);
  for (const uint32_t used : used_) at = PutVarint(at, used);
  for (uint32_t column = 0; column < kColumnCount; ++column) {
    memcpy(at, columns_[column], used_[column]);
    at += used_[column];
  }
  return static_cast<size_t>(at - out);
}

}  // namespace gputrace::trace

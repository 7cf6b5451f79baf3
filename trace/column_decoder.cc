// SPDX-License-Identifier: Apache-2.0
#include "trace/column_decoder.h"

#include "absl/strings/str_format.h"
#include "trace/varint.h"

namespace gputrace::trace {
namespace {

absl::Status Damaged(const char* what) {
  return absl::DataLossError(absl::StrFormat("event block: %s", what));
}

}  // namespace

ColumnDecoder::ColumnDecoder() : model_(std::make_unique<ColumnModel>()) {}

bool ColumnDecoder::Get(uint32_t column, uint64_t* value) {
  Column& c = columns_[column];
  const uint8_t* next = GetVarint(c.at, c.end, value);
  if (next == nullptr) return false;
  c.at = next;
  return true;
}

absl::Status ColumnDecoder::ReadRanges(std::span<const uint8_t> payload,
                                       std::vector<RingRange>* ranges) {
  const uint8_t* at = payload.data();
  const uint8_t* const end = at + payload.size();
  uint64_t count = 0;
  at = GetVarint(at, end, &count);
  if (at == nullptr || count > ColumnEncoder::kMaxRanges) return Damaged("bad ring ranges");
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t ring = 0;
    uint64_t from = 0;
    uint64_t length = 0;
    at = GetVarint(at, end, &ring);
    if (at != nullptr) at = GetVarint(at, end, &from);
    if (at != nullptr) at = GetVarint(at, end, &length);
    if (at == nullptr) return Damaged("bad ring ranges");
    ranges->push_back({static_cast<uint32_t>(ring), from, from + length});
  }
  return absl::OkStatus();
}

absl::Status ColumnDecoder::OpenColumns(std::span<const uint8_t> payload) {
  const uint8_t* at = payload.data();
  const uint8_t* const end = at + payload.size();
  uint64_t ranges = 0;
  at = GetVarint(at, end, &ranges);
  if (at == nullptr || ranges > ColumnEncoder::kMaxRanges) return Damaged("bad ring ranges");
  for (uint64_t i = 0; i < 3 * ranges && at != nullptr; ++i) {
    uint64_t ignored = 0;
    at = GetVarint(at, end, &ignored);
  }
  uint64_t count = 0;
  if (at != nullptr) at = GetVarint(at, end, &count);
  // A later version may append columns; they are behind those known here.
  if (at == nullptr || count < kColumnCount || count > 4096) return Damaged("bad column count");
  std::vector<uint64_t> sizes(count);
  for (uint64_t& size : sizes) {
    if (at != nullptr) at = GetVarint(at, end, &size);
  }
  if (at == nullptr) return Damaged("bad column sizes");
  for (uint32_t i = 0; i < kColumnCount; ++i) {
    if (sizes[i] > static_cast<uint64_t>(end - at)) return Damaged("column runs over the end");
    columns_[i] = {at, at + sizes[i]};
    at += sizes[i];
  }
  return absl::OkStatus();
}

absl::Status ColumnDecoder::Decode(std::span<const uint8_t> payload, uint32_t records,
                                   uint64_t first_time,
                                   absl::FunctionRef<void(const PackedRecord&)> visit) {
  if (absl::Status status = OpenColumns(payload); !status.ok()) return status;
  model_->Reset();
  uint64_t time = first_time;
  for (uint32_t i = 0; i < records; ++i) {
    uint32_t site_number = 0;
    uint64_t elapsed = 0;
    if (!GetSite(&site_number)) return Damaged("bad site");
    if (!Get(kColumnTimes, &elapsed)) return Damaged("bad time");
    Column& durations = columns_[kColumnDurations];
    if (durations.at == durations.end) return Damaged("bad duration");
    time += elapsed;
    ColumnModel::Site& site = model_->sites[site_number];
    const ColumnModel::Shape& shape = model_->shapes[site.shape];
    PackedRecord record;
    record.duration = *durations.at++;
    if (!GetOperands(shape, &site)) return Damaged("bad operand");
    record.kind = shape.kind;
    record.flags = shape.flags;
    record.entry = shape.entry;
    record.result = shape.result;
    record.thread = shape.thread;
    record.context = shape.context;
    record.native_stack = site.native_stack;
    record.python_stack = site.python_stack;
    record.time = time;
    record.count = shape.count;
    record.operands = operands_;
    visit(record);
  }
  return absl::OkStatus();
}

bool ColumnDecoder::GetSite(uint32_t* site) {
  uint64_t code = 0;
  if (!Get(kColumnSites, &code)) return false;
  if (code == kSitePredicted) {
    const uint32_t predicted = model_->PredictedSite();
    if (predicted == 0) return false;
    *site = predicted - 1;
  } else if (code == kSiteNew) {
    if (!DefineSite(site)) return false;
  } else {
    if (code - kSiteFirst >= model_->site_count) return false;
    *site = static_cast<uint32_t>(code - kSiteFirst);
  }
  model_->EnterSite(*site);
  return true;
}

bool ColumnDecoder::DefineSite(uint32_t* site) {
  if (model_->site_count == ColumnModel::kMaxSites) return false;
  uint64_t reference = 0;
  uint64_t native = 0;
  uint64_t python = 0;
  uint32_t shape = 0;
  if (!Get(kColumnDefinitions, &reference)) return false;
  if (reference == 0) {
    if (!DefineShape(&shape)) return false;
  } else {
    if (reference > model_->shape_count) return false;
    shape = static_cast<uint32_t>(reference - 1);
  }
  if (!Get(kColumnDefinitions, &native) || !Get(kColumnDefinitions, &python)) return false;
  model_->last_native += static_cast<uint64_t>(UnZigZag(native));
  model_->last_python += static_cast<uint64_t>(UnZigZag(python));
  *site = model_->AddSite(shape, static_cast<uint32_t>(model_->last_native),
                          static_cast<uint32_t>(model_->last_python));
  return true;
}

bool ColumnDecoder::DefineShape(uint32_t* shape) {
  if (model_->shape_count == ColumnModel::kMaxShapes) return false;
  uint64_t fields[7];
  for (uint64_t& field : fields) {
    if (!Get(kColumnDefinitions, &field)) return false;
  }
  if (fields[6] > kMaxOperands) return false;
  ColumnModel::Shape added{static_cast<RecordKind>(fields[0]),
                           static_cast<uint8_t>(fields[1]),
                           static_cast<uint16_t>(fields[2]),
                           static_cast<int32_t>(UnZigZag(fields[3])),
                           static_cast<uint32_t>(fields[4]),
                           static_cast<uint32_t>(fields[5]),
                           static_cast<uint32_t>(fields[6]),
                           0,
                           {}};
  for (uint32_t i = 0; i < added.count; ++i) {
    uint64_t hint = 0;
    if (!Get(kColumnDefinitions, &hint) || hint > kMaxHint) return false;
    added.hints[i] = static_cast<uint8_t>(hint);
  }
  *shape = model_->AddShape(added);
  return true;
}

bool ColumnDecoder::GetOperands(const ColumnModel::Shape& shape, ColumnModel::Site* site) {
  uint64_t size = 0;
  for (uint32_t i = 0; i < shape.count; ++i) {
    const uint32_t column = ColumnOfHint(shape.hints[i]);
    uint64_t& last = site->last[ColumnModel::Slot(i)];
    uint64_t value = 0;
    switch (PredictorOfHint(shape.hints[i])) {
      case Predictor::kOpen:
        if (!GetOpen(column, size, last, &value)) return false;
        break;
      case Predictor::kClose:
        if (!GetClose(column, last, site, &value)) return false;
        break;
      case Predictor::kLast:
        if (!Get(column, &value)) return false;
        value = last + static_cast<uint64_t>(UnZigZag(value));
        break;
    }
    if (column == kSizeColumn && size == 0) size = value;
    last = value;
    operands_[i] = value;
  }
  return true;
}

bool ColumnDecoder::GetOpen(uint32_t column, uint64_t size, uint64_t last, uint64_t* value) {
  uint64_t code = 0;
  uint64_t delta = 0;
  if (!Get(column, &code)) return false;
  if (code == kOpenSame) {
    *value = last;
  } else if (code == kOpenReused) {
    *value = model_->ReuseOf(size);
  } else if (code == kOpenStride || code == kOpenDelta) {
    if (!Get(column, &delta)) return false;
    const uint64_t unit = code == kOpenStride ? kAddressStride : 1;
    *value = model_->last_opened + static_cast<uint64_t>(UnZigZag(delta)) * unit;
  } else {
    return false;
  }
  model_->NoteOpen(*value, size);
  return true;
}

bool ColumnDecoder::GetClose(uint32_t column, uint64_t last, ColumnModel::Site* site,
                             uint64_t* value) {
  uint64_t code = 0;
  uint64_t operand = 0;
  uint32_t open = 0;
  if (!Get(column, &code)) return false;
  if (code == kCloseSameAge || code == kCloseAge) {
    if (code == kCloseAge) {
      if (!Get(column, &operand) || operand >= model_->open_count) return false;
      site->close_age = static_cast<uint32_t>(operand);
    }
    if (site->close_age >= model_->open_count) return false;
    open = model_->open_count - site->close_age;
    *value = model_->opens[open - 1].value;
  } else if (code == kCloseSame) {
    *value = last;
  } else if (code == kCloseStride || code == kCloseDelta) {
    if (!Get(column, &operand)) return false;
    const uint64_t unit = code == kCloseStride ? kAddressStride : 1;
    *value = model_->last_closed + static_cast<uint64_t>(UnZigZag(operand)) * unit;
  } else {
    return false;
  }
  model_->NoteClose(*value, open);
  return true;
}

}  // namespace gputrace::trace

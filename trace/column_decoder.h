// SPDX-License-Identifier: Apache-2.0
// Turns the payload of an event block back into records.
#ifndef GPUTRACE_TRACE_COLUMN_DECODER_H_
#define GPUTRACE_TRACE_COLUMN_DECODER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "trace/column_encoder.h"
#include "trace/column_model.h"

namespace gputrace::trace {

// Reusable, so that its 2 MiB of tables are allocated once. Not thread-safe.
class ColumnDecoder {
 public:
  ColumnDecoder();

  // Only the part of `payload` before the columns: which ring positions the block holds.
  static absl::Status ReadRanges(std::span<const uint8_t> payload, std::vector<RingRange>* ranges);

  // Calls `visit` with each record. Fails with kDataLoss at the first thing that does not fit; what
  // was visited before is right. `records` and `first_time` come from the block's header.
  absl::Status Decode(std::span<const uint8_t> payload, uint32_t records, uint64_t first_time,
                      absl::FunctionRef<void(const PackedRecord&)> visit);

 private:
  struct Column {
    const uint8_t* at = nullptr;
    const uint8_t* end = nullptr;
  };

  bool Get(uint32_t column, uint64_t* value);
  absl::Status OpenColumns(std::span<const uint8_t> payload);
  bool GetSite(uint32_t* site);
  bool DefineSite(uint32_t* site);
  bool DefineShape(uint32_t* shape);
  bool GetOperands(const ColumnModel::Shape& shape, ColumnModel::Site* site);
  bool GetOpen(uint32_t column, uint64_t size, uint64_t last, uint64_t* value);
  bool GetClose(uint32_t column, uint64_t last, ColumnModel::Site* site, uint64_t* value);

  std::unique_ptr<ColumnModel> model_;
  Column columns_[kColumnCount];
  uint64_t operands_[kMaxOperands];
};

}  // namespace gputrace::trace

#endif  // GPUTRACE_TRACE_COLUMN_DECODER_H_

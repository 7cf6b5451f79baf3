// SPDX-License-Identifier: Apache-2.0
#include "analyzer/ingest/cursor.h"

#include "absl/strings/str_cat.h"

namespace gputrace::ingest {

bool Cursor::Next() {
  while (position_ == records_.size()) {
    if (!Fill()) return false;
  }
  ++position_;
  return true;
}

bool Cursor::Fill() {
  records_.clear();
  operands_.clear();
  position_ = 0;
  const auto keep = [this](const trace::Record& record) { Keep(record); };
  if (next_block_ < reader_->blocks().size()) {
    const size_t block = next_block_++;
    if (absl::Status status = reader_->ReadBlock(block, keep); !status.ok()) {
      damage_->push_back(absl::StrCat("block at byte ", reader_->blocks()[block].offset, ": ",
                                      status.message()));
    }
  } else if (!rings_read_) {
    rings_read_ = true;
    reader_->ReadRings(keep).IgnoreError();  // they are in memory: nothing can fail
  } else {
    return false;
  }
  // Only now do the operands stay where they are.
  size_t first = 0;
  for (trace::Record& record : records_) {
    const size_t count = record.operands.size();
    record.operands = {operands_.data() + first, count};
    first += count;
  }
  return true;
}

void Cursor::Keep(const trace::Record& record) {
  records_.push_back(record);
  records_.back().time_ns += offset_ns_;
  operands_.insert(operands_.end(), record.operands.begin(), record.operands.end());
}

}  // namespace gputrace::ingest

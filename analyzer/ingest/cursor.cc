// SPDX-License-Identifier: Apache-2.0
#include "analyzer/ingest/cursor.h"

#include "absl/strings/str_cat.h"

namespace gputrace::ingest {

bool Cursor::Next() {
  while (position_ == batch_.size()) {
    if (!Fill()) return false;
  }
  ++position_;
  return true;
}

bool Cursor::Fill() {
  batch_.Clear();
  position_ = 0;
  const auto keep = [this](trace::Record record) {
    record.time_ns += offset_ns_;
    batch_.Add(record);
  };
  if (next_block_ < reader_->blocks().size()) {
    const size_t block = next_block_++;
    if (absl::Status status = reader_->ReadBlock(block, keep); !status.ok()) {
      damage_->push_back(
          absl::StrCat("block at byte ", reader_->blocks()[block].offset, ": ", status.message()));
    }
  } else if (!rings_read_) {
    rings_read_ = true;
    reader_->ReadRings(keep).IgnoreError();  // they are in memory: nothing can fail
  } else {
    return false;
  }
  batch_.Seal();
  return true;
}

}  // namespace gputrace::ingest

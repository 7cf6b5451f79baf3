// SPDX-License-Identifier: Apache-2.0
// Walks through a trace record by record, for merging several of them.
#ifndef GPUTRACE_ANALYZER_INGEST_CURSOR_H_
#define GPUTRACE_ANALYZER_INGEST_CURSOR_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/ingest/record_batch.h"
#include "trace/reader.h"

namespace gputrace::ingest {

// Holds one decoded block. Times are moved by `offset_ns`. Blocks that do not decode are skipped
// and named in `damage`.
class Cursor {
 public:
  Cursor(trace::Reader* reader, int64_t offset_ns, std::vector<std::string>* damage)
      : reader_(reader), offset_ns_(offset_ns), damage_(damage) {}
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;

  // Goes to the next record, at first to the first. False at the end.
  bool Next();
  // Valid until Next is called again.
  const trace::Record& record() const { return batch_[position_ - 1]; }

 private:
  bool Fill();

  trace::Reader* const reader_;
  const int64_t offset_ns_;
  std::vector<std::string>* const damage_;
  size_t next_block_ = 0;
  bool rings_read_ = false;
  RecordBatch batch_;
  size_t position_ = 0;
};

}  // namespace gputrace::ingest

#endif  // GPUTRACE_ANALYZER_INGEST_CURSOR_H_

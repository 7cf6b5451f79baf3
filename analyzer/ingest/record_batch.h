// SPDX-License-Identifier: Apache-2.0
// Records that outlive the block they were decoded from.
#ifndef GPUTRACE_ANALYZER_INGEST_RECORD_BATCH_H_
#define GPUTRACE_ANALYZER_INGEST_RECORD_BATCH_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace/record.h"

namespace gputrace::ingest {

class RecordBatch {
 public:
  void Clear() {
    records_.clear();
    operands_.clear();
  }
  void Add(const trace::Record& record) {
    records_.push_back(record);
    operands_.insert(operands_.end(), record.operands.begin(), record.operands.end());
  }
  // To be called once all are added: only then do the operands stay where they are.
  void Seal() {
    size_t first = 0;
    for (trace::Record& record : records_) {
      const size_t count = record.operands.size();
      record.operands = {operands_.data() + first, count};
      first += count;
    }
  }
  size_t size() const { return records_.size(); }
  const trace::Record& operator[](size_t i) const { return records_[i]; }

 private:
  std::vector<trace::Record> records_;
  std::vector<uint64_t> operands_;
};

}  // namespace gputrace::ingest

#endif  // GPUTRACE_ANALYZER_INGEST_RECORD_BATCH_H_

// SPDX-License-Identifier: Apache-2.0
#include "analyzer/ingest/read_ahead.h"

#include <array>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "analyzer/ingest/record_batch.h"

namespace gputrace::ingest {
namespace {

// Large enough that handing over costs nothing, small enough to stay in the cache.
constexpr size_t kBatchRecords = 1024;
constexpr size_t kBatches = 4;

// Batches go round: the decoder fills, the consumer empties them, in order.
class Batches {
 public:
  RecordBatch* WaitForEmpty() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return filled_ - emptied_ < kBatches; });
    return &batches_[filled_ % kBatches];
  }
  void NoteFilled() {
    const std::lock_guard lock(mutex_);
    ++filled_;
    changed_.notify_one();
  }
  void NoteEnd() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_one();
  }
  // Null at the end.
  const RecordBatch* WaitForFilled() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return emptied_ < filled_ || ended_; });
    return emptied_ < filled_ ? &batches_[emptied_ % kBatches] : nullptr;
  }
  void NoteEmptied() {
    const std::lock_guard lock(mutex_);
    ++emptied_;
    changed_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::array<RecordBatch, kBatches> batches_;
  uint64_t filled_ = 0;
  uint64_t emptied_ = 0;
  bool ended_ = false;
};

absl::Status Decode(trace::Reader* reader, Batches* batches) {
  RecordBatch* batch = batches->WaitForEmpty();
  batch->Clear();
  absl::Status status = reader->ForEach([&](const trace::Record& record) {
    batch->Add(record);
    if (batch->size() < kBatchRecords) return;
    batch->Seal();
    batches->NoteFilled();
    batch = batches->WaitForEmpty();
    batch->Clear();
  });
  batch->Seal();
  batches->NoteFilled();
  batches->NoteEnd();
  return status;
}

}  // namespace

absl::Status ReadAhead(trace::Reader* reader, absl::FunctionRef<void(const trace::Record&)> visit) {
  Batches batches;
  absl::Status status;
  std::thread decoder([&] { status = Decode(reader, &batches); });
  while (const RecordBatch* batch = batches.WaitForFilled()) {
    for (size_t i = 0; i < batch->size(); ++i) visit((*batch)[i]);
    batches.NoteEmptied();
  }
  decoder.join();
  return status;
}

}  // namespace gputrace::ingest

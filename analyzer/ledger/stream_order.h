// SPDX-License-Identifier: Apache-2.0
// Memory that was freed in the order of a stream, until there is evidence that the stream has got
// past the free.
//
// Evidence is that the program waited: for the stream, its context, or an event recorded after the
// free. Waits between streams, and the legacy default stream's with all blocking ones, hand it on:
// who has waited for one has waited for the other. Launches and copies are not recorded, so what
// follows from them alone is not known and not assumed.
#ifndef GPUTRACE_ANALYZER_LEDGER_STREAM_ORDER_H_
#define GPUTRACE_ANALYZER_LEDGER_STREAM_ORDER_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "analyzer/ledger/observer.h"
#include "trace/record.h"

namespace gputrace::ledger {

// A call that names a stream; `context` is the caller's current one.
struct StreamCall {
  uint64_t stream = 0;  // handle; those of default streams mean another stream in each context
  uint32_t context = 0;
  const trace::Record* record = nullptr;
};

struct PendingFree {
  Allocation allocation;  // in the account kPoolPending; `bytes` are those not handed out again
  uint64_t stream = 0;    // handle of the stream in whose order it was freed
  uint32_t thread = 0;
  int64_t time_ns = 0;  // of the free
};

// Observers see pending memory come into being and end like any other, in kPoolPending. Memory: the
// pending frees, and a few words per stream.
class StreamOrder {
 public:
  using FreeId = std::pair<uint32_t, uint64_t>;

  explicit StreamOrder(const std::vector<Observer*>* observers) : observers_(*observers) {}

  // A handle names a new stream. What is not known to be blocking has no implicit order.
  void Create(uint64_t handle, bool blocking, uint32_t context);
  // Memory that is handed out again is pending no longer, whatever the evidence.
  void Allocate(const StreamCall& call, const Allocation& block);
  FreeId Free(const StreamCall& call, const Allocation& block);
  // The free turned out to have failed.
  void TakeBack(FreeId free, int64_t time_ns);

  void Synchronize(const StreamCall& call);
  void SynchronizeContext(uint32_t context, const trace::Record& record);
  // Its streams end; their work is done.
  void EndContext(uint32_t context, const trace::Record& record);
  void SynchronizeEvent(uint64_t event, const trace::Record& record);
  void Record(uint64_t event, const StreamCall& call);
  void RecordContext(uint64_t event, uint32_t context, const trace::Record& record);
  void Wait(uint64_t event, const StreamCall& call);
  // A handle names a new event, or one of which nothing is known.
  void ForgetEvent(uint64_t event) { events_.erase(event); }

  // What is recorded or waited for while a stream is captured happens when the graph is launched.
  void BeginCapture(const StreamCall& call);
  void EndCapture(const StreamCall& call);

  void ForEachPending(absl::FunctionRef<void(const PendingFree&)> visit) const;

 private:
  using StreamId = uint32_t;
  static constexpr StreamId kNone = UINT32_MAX;
  // How many frees of each stream are behind a point. Streams without pending frees may be left
  // out.
  using Clock = absl::flat_hash_map<StreamId, uint64_t>;

  struct Stream {
    uint64_t handle = 0;
    uint32_t context = 0;
    bool blocking = false;
    bool legacy = false;
    StreamId capture = kNone;  // the stream that a capture began on
    uint64_t frees = 0;
    Clock after;                                     // what the stream has waited for
    absl::btree_map<uint64_t, PendingFree> pending;  // by number of the free, from 1
  };
  struct Event {
    Clock point;
    StreamId capture = kNone;
  };
  // A part of pending memory's addresses.
  struct Range {
    uint64_t end = 0;
    FreeId free;
  };

  StreamId Find(const StreamCall& call);
  StreamId Add(Stream stream);
  StreamId Legacy(uint32_t context);
  uint64_t FreesBefore(const Stream& stream, const trace::Record& record) const;
  void AddOwn(StreamId stream, const trace::Record& record, Clock* clock);
  Clock PointOf(StreamId stream, const trace::Record& record);
  void Merge(const Clock& from, Clock* to) const;
  void Submit(StreamId stream, const trace::Record& record);
  void Observe(const Clock& clock, const trace::Record& record);
  void Settle(StreamId stream, uint64_t frees, const trace::Record& record);
  void End(const PendingFree& free, const FreeEvent& event);
  void DropRanges(const PendingFree& free, FreeId id);
  bool IsIdle(const Stream& stream) const { return stream.pending.empty() && stream.after.empty(); }

  const std::vector<Observer*>& observers_;
  std::vector<Stream> streams_;
  absl::flat_hash_map<uint64_t, StreamId> by_handle_;
  absl::flat_hash_map<uint32_t, StreamId> legacy_;                           // by context
  absl::flat_hash_map<std::pair<uint32_t, uint32_t>, StreamId> per_thread_;  // context, thread
  absl::flat_hash_set<StreamId> active_;  // all but idle ones, and some of these
  absl::flat_hash_map<uint64_t, Event> events_;
  absl::btree_map<uint64_t, Range> ranges_;  // by first address
};

}  // namespace gputrace::ledger

#endif  // GPUTRACE_ANALYZER_LEDGER_STREAM_ORDER_H_

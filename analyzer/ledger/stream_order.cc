// SPDX-License-Identifier: Apache-2.0
#include "analyzer/ledger/stream_order.h"

#include <algorithm>

namespace gputrace::ledger {
namespace {

using TraceRecord = trace::Record;

// cuda.h: NULL and CU_STREAM_LEGACY, CU_STREAM_PER_THREAD.
constexpr uint64_t kNullStream = 0;
constexpr uint64_t kLegacyStream = 1;
constexpr uint64_t kPerThreadStream = 2;

// A record's time is that of the call's end, and durations are rounded: down by up to a fifth, and
// to 0 below a microsecond.
int64_t LatestStart(const TraceRecord& record) {
  if (record.kind == trace::RecordKind::kIntent) return record.time_ns;
  return record.time_ns - static_cast<int64_t>(record.duration_ns + record.duration_ns / 4) - 1000;
}

}  // namespace

StreamOrder::StreamId StreamOrder::Add(Stream stream) {
  streams_.push_back(std::move(stream));
  return static_cast<StreamId>(streams_.size() - 1);
}

void StreamOrder::Create(uint64_t handle, bool blocking, uint32_t context) {
  Stream stream;
  stream.handle = handle;
  stream.blocking = blocking;
  stream.context = context;
  by_handle_[handle] = Add(std::move(stream));
}

StreamOrder::StreamId StreamOrder::Legacy(uint32_t context) {
  const auto [found, is_new] = legacy_.try_emplace(context, kNone);
  if (is_new) {
    Stream stream;
    stream.context = context;
    stream.legacy = true;
    found->second = Add(std::move(stream));
  }
  return found->second;
}

StreamOrder::StreamId StreamOrder::Find(const StreamCall& call) {
  if (call.stream == kNullStream || call.stream == kLegacyStream) return Legacy(call.context);
  if (call.stream == kPerThreadStream) {
    const auto [found, is_new] =
        per_thread_.try_emplace({call.context, call.record->thread}, kNone);
    if (is_new) {
      Stream stream;
      stream.handle = kPerThreadStream;
      stream.context = call.context;
      stream.blocking = true;
      found->second = Add(std::move(stream));
    }
    return found->second;
  }
  const auto [found, is_new] = by_handle_.try_emplace(call.stream, kNone);
  if (is_new) {
    Stream stream;
    stream.handle = call.stream;
    stream.context = call.context;
    found->second = Add(std::move(stream));
  }
  return found->second;
}

// A free of another thread that was announced while the call may already have been under way need
// not be behind it.
uint64_t StreamOrder::FreesBefore(const Stream& stream, const TraceRecord& record) const {
  uint64_t frees = stream.frees;
  const int64_t start = LatestStart(record);
  for (auto free = stream.pending.rbegin(); free != stream.pending.rend(); ++free) {
    if (free->second.time_ns < start) break;
    if (free->second.thread != record.thread) frees = free->first - 1;
  }
  return frees;
}

void StreamOrder::Merge(const Clock& from, Clock* to) const {
  for (const auto& [stream, frees] : from) {
    const auto& pending = streams_[stream].pending;
    if (pending.empty() || pending.begin()->first > frees) continue;  // settled since
    uint64_t& known = (*to)[stream];
    known = std::max(known, frees);
  }
}

void StreamOrder::AddOwn(StreamId id, const TraceRecord& record, Clock* clock) {
  Stream& stream = streams_[id];
  if (!stream.after.empty()) {
    Clock still_pending;
    Merge(stream.after, &still_pending);
    stream.after = std::move(still_pending);
    Merge(stream.after, clock);
  }
  if (!stream.pending.empty()) Merge({{id, FreesBefore(stream, record)}}, clock);
}

// What is done when all that the stream was given until now is done.
StreamOrder::Clock StreamOrder::PointOf(StreamId id, const TraceRecord& record) {
  Clock clock;
  AddOwn(id, record, &clock);
  if (active_.empty()) return clock;
  if (streams_[id].blocking) {
    const auto legacy = legacy_.find(streams_[id].context);
    if (legacy != legacy_.end()) AddOwn(legacy->second, record, &clock);
  } else if (streams_[id].legacy) {
    for (auto other = active_.begin(); other != active_.end();) {
      const Stream& stream = streams_[*other];
      if (stream.blocking && stream.context == streams_[id].context) {
        AddOwn(*other, record, &clock);
      }
      if (IsIdle(stream)) {
        active_.erase(other++);
      } else {
        ++other;
      }
    }
  }
  return clock;
}

// Something was given to the stream that can only be done when all of that is.
void StreamOrder::Submit(StreamId id, const TraceRecord& record) {
  if (active_.empty() || !(streams_[id].legacy || streams_[id].blocking)) return;
  Clock point = PointOf(id, record);
  point.erase(id);
  streams_[id].after = std::move(point);
  if (!IsIdle(streams_[id])) active_.insert(id);
}

void StreamOrder::Allocate(const StreamCall& call, const Allocation& block) {
  Submit(Find(call), *call.record);
  const uint64_t end = block.address + block.bytes;
  auto at = ranges_.upper_bound(block.address);
  if (at != ranges_.begin()) --at;
  while (at != ranges_.end() && at->first < end) {
    const uint64_t start = at->first;
    const Range range = at->second;
    if (range.end <= block.address) {
      ++at;
      continue;
    }
    ranges_.erase(at);
    uint64_t rest = 0;
    if (start < block.address) {
      ranges_[start] = {block.address, range.free};
      rest += block.address - start;
    }
    if (range.end > end) {
      ranges_[end] = {range.end, range.free};
      rest += range.end - end;
    }
    auto& pending = streams_[range.free.first].pending;
    const auto found = pending.find(range.free.second);
    PendingFree& free = found->second;
    const uint64_t old_bytes = free.allocation.bytes;
    free.allocation.bytes -= (range.end - start) - rest;
    if (free.allocation.bytes > 0) {
      for (Observer* observer : observers_) {
        observer->OnResize(free.allocation, old_bytes, call.record->time_ns);
      }
    } else {
      free.allocation.bytes = old_bytes;
      FreeEvent event;
      event.time_ns = call.record->time_ns;
      End(free, event);
      pending.erase(found);
    }
    at = ranges_.upper_bound(start);
  }
}

StreamOrder::FreeId StreamOrder::Free(const StreamCall& call, const Allocation& block) {
  const StreamId id = Find(call);
  Submit(id, *call.record);
  Stream& stream = streams_[id];
  const FreeId free_id = {id, ++stream.frees};
  PendingFree& free = stream.pending[free_id.second];
  free.allocation = block;
  free.allocation.account = Account::kPoolPending;
  free.allocation.time_ns = call.record->time_ns;
  free.stream = call.stream;
  free.thread = call.record->thread;
  free.time_ns = call.record->time_ns;
  ranges_[block.address] = {block.address + block.bytes, free_id};
  active_.insert(id);
  for (Observer* observer : observers_) observer->OnAllocate(free.allocation);
  return free_id;
}

void StreamOrder::TakeBack(FreeId id, int64_t time_ns) {
  auto& pending = streams_[id.first].pending;
  const auto found = pending.find(id.second);
  if (found == pending.end()) return;
  FreeEvent event;
  event.time_ns = time_ns;
  event.cause = FreeCause::kNeverWas;
  DropRanges(found->second, id);
  End(found->second, event);
  pending.erase(found);
}

void StreamOrder::DropRanges(const PendingFree& free, FreeId id) {
  auto at = ranges_.lower_bound(free.allocation.address);
  uint64_t left = free.allocation.bytes;
  while (at != ranges_.end() && left > 0) {
    if (at->second.free == id) {
      left -= std::min(left, at->second.end - at->first);
      at = ranges_.erase(at);
    } else {
      ++at;
    }
  }
}

void StreamOrder::End(const PendingFree& free, const FreeEvent& event) {
  for (Observer* observer : observers_) observer->OnFree(free.allocation, event);
}

void StreamOrder::Settle(StreamId id, uint64_t frees, const TraceRecord& record) {
  auto& pending = streams_[id].pending;
  FreeEvent event;
  event.time_ns = record.time_ns;
  event.native_stack = record.native_stack;
  event.thread = record.thread;
  while (!pending.empty() && pending.begin()->first <= frees) {
    DropRanges(pending.begin()->second, {id, pending.begin()->first});
    End(pending.begin()->second, event);
    pending.erase(pending.begin());
  }
}

void StreamOrder::Observe(const Clock& clock, const TraceRecord& record) {
  for (const auto& [stream, frees] : clock) {
    Settle(stream, frees, record);
    if (IsIdle(streams_[stream])) active_.erase(stream);
  }
}

void StreamOrder::Synchronize(const StreamCall& call) {
  if (active_.empty()) return;
  Observe(PointOf(Find(call), *call.record), *call.record);
}

void StreamOrder::SynchronizeContext(uint32_t context, const TraceRecord& record) {
  Clock clock;
  for (const StreamId id : active_) {
    if (streams_[id].context == context) AddOwn(id, record, &clock);
  }
  Observe(clock, record);
}

void StreamOrder::EndContext(uint32_t context, const TraceRecord& record) {
  SynchronizeContext(context, record);
  legacy_.erase(context);
  absl::erase_if(per_thread_, [&](const auto& item) { return item.first.first == context; });
}

void StreamOrder::SynchronizeEvent(uint64_t event, const TraceRecord& record) {
  if (active_.empty()) return;
  const auto found = events_.find(event);
  if (found == events_.end()) return;
  Clock clock;
  Merge(found->second.point, &clock);
  Observe(clock, record);
}

void StreamOrder::Record(uint64_t event, const StreamCall& call) {
  const StreamId id = Find(call);
  Event& recorded = events_[event];
  recorded.capture = streams_[id].capture;
  recorded.point.clear();
  if (recorded.capture != kNone) return;
  Submit(id, *call.record);
  recorded.point = PointOf(id, *call.record);
}

void StreamOrder::RecordContext(uint64_t event, uint32_t context, const TraceRecord& record) {
  Event& recorded = events_[event];
  recorded = {};
  for (const StreamId id : active_) {
    if (streams_[id].context == context) AddOwn(id, record, &recorded.point);
  }
}

void StreamOrder::Wait(uint64_t event, const StreamCall& call) {
  const auto found = events_.find(event);
  if (found == events_.end()) return;
  const StreamId id = Find(call);
  if (found->second.capture != kNone) {
    streams_[id].capture = found->second.capture;
    return;
  }
  if (streams_[id].capture != kNone || active_.empty()) return;
  Submit(id, *call.record);
  Merge(found->second.point, &streams_[id].after);
  streams_[id].after.erase(id);
  if (!IsIdle(streams_[id])) active_.insert(id);
}

void StreamOrder::BeginCapture(const StreamCall& call) {
  const StreamId id = Find(call);
  streams_[id].capture = id;
}

void StreamOrder::EndCapture(const StreamCall& call) {
  const StreamId origin = Find(call);
  for (Stream& stream : streams_) {
    if (stream.capture == origin) stream.capture = kNone;
  }
}

void StreamOrder::ForEachPending(absl::FunctionRef<void(const PendingFree&)> visit) const {
  for (const Stream& stream : streams_) {
    for (const auto& [number, free] : stream.pending) visit(free);
  }
}

}  // namespace gputrace::ledger

// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/timeline.h"

#include <algorithm>

namespace gputrace::analyses {

using ledger::Allocation;

void StepSeries::Bucket::Add(const TimelinePoint& point) {
  if (!used) {
    *this = {point, point, point, true};
    return;
  }
  if (point.bytes < low.bytes) low = point;
  if (point.bytes > high.bytes) high = point;
  last = point;
}

void StepSeries::Bucket::Merge(const Bucket& later) {
  if (!later.used) return;
  if (!used) {
    *this = later;
    return;
  }
  if (later.low.bytes < low.bytes) low = later.low;
  if (later.high.bytes > high.bytes) high = later.high;
  last = later.last;
}

void StepSeries::Widen() {
  const size_t half = (buckets_.size() + 1) / 2;
  for (size_t i = 0; i < half; ++i) {
    Bucket merged = buckets_[2 * i];
    if (2 * i + 1 < buckets_.size()) merged.Merge(buckets_[2 * i + 1]);
    buckets_[i] = merged;
  }
  buckets_.resize(half);
  width_ns_ *= 2;
}

void StepSeries::Set(int64_t time_ns, uint64_t bytes) {
  const int64_t time = std::max<int64_t>(time_ns, 0);
  while (static_cast<uint64_t>(time / width_ns_) >= max_buckets_) Widen();
  const auto bucket = static_cast<size_t>(time / width_ns_);
  if (bucket >= buckets_.size()) buckets_.resize(bucket + 1);
  buckets_[bucket].Add({time, bytes});
}

std::vector<TimelinePoint> StepSeries::Points() const {
  std::vector<TimelinePoint> points;
  for (const Bucket& bucket : buckets_) {
    if (!bucket.used) continue;
    TimelinePoint in_bucket[] = {bucket.low, bucket.high, bucket.last};
    std::stable_sort(std::begin(in_bucket), std::end(in_bucket),
                     [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
    for (const TimelinePoint& point : in_bucket) {
      // Several changes at one time: the value that the last of them left, but never below a peak.
      if (!points.empty() && points.back().time_ns == point.time_ns) {
        points.back().bytes = std::max(points.back().bytes, point.bytes);
      } else {
        points.push_back(point);
      }
    }
  }
  return points;
}

void Timeline::Change(const Allocation& allocation, uint64_t more, uint64_t less, int64_t time_ns) {
  if (!filter_.Holds(allocation)) return;
  Series& own =
      series_.try_emplace({allocation.device, allocation.account}, max_buckets_).first->second;
  for (Series* series : {&own, &total_}) {
    series->current = series->current + more - std::min(series->current, less);
    series->steps.Set(time_ns, series->current);
    if (series->current > series->peak) {
      series->peak = series->current;
      series->peak_time_ns = time_ns;
    }
  }
}

void Timeline::OnAllocate(const Allocation& allocation) {
  Change(allocation, allocation.bytes, 0, allocation.time_ns);
}
void Timeline::OnFree(const Allocation& allocation, const ledger::FreeEvent& event) {
  Change(allocation, 0, allocation.bytes, event.time_ns);
}
void Timeline::OnTakeBack(const Allocation& allocation, const ledger::FreeEvent&, int64_t time_ns) {
  Change(allocation, allocation.bytes, 0, time_ns);
}
void Timeline::OnProcessEnd(const Allocation& allocation, int64_t time_ns) {
  Change(allocation, 0, allocation.bytes, time_ns);
}
void Timeline::OnResize(const Allocation& allocation, uint64_t old_bytes, int64_t time_ns) {
  Change(allocation, allocation.bytes, old_bytes, time_ns);
}

}  // namespace gputrace::analyses

// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/timeline.h"

#include <algorithm>

namespace gputrace::analyses {

using ledger::Allocation;

void StepSeries::Bucket::Add(const Step& step) {
  if (!used) {
    *this = {step, step, step, true};
    return;
  }
  if (step.point.bytes < low.point.bytes) low = step;
  if (step.point.bytes > high.point.bytes) high = step;
  last = step;
}

void StepSeries::Bucket::Merge(const Bucket& later) {
  if (!later.used) return;
  if (!used) {
    *this = later;
    return;
  }
  if (later.low.point.bytes < low.point.bytes) low = later.low;
  if (later.high.point.bytes > high.point.bytes) high = later.high;
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
  buckets_[bucket].Add({{time, bytes}, ++steps_});
}

std::vector<TimelinePoint> StepSeries::Points() const {
  std::vector<TimelinePoint> points;
  uint64_t newest = 0;
  for (const Bucket& bucket : buckets_) {
    if (!bucket.used) continue;
    Step steps[] = {bucket.low, bucket.high, bucket.last};
    std::sort(std::begin(steps), std::end(steps),
              [](const Step& a, const Step& b) { return a.number < b.number; });
    for (const Step& step : steps) {
      if (step.number > newest) points.push_back(step.point);
      newest = std::max(newest, step.number);
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

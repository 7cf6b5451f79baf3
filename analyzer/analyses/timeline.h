// SPDX-License-Identifier: Apache-2.0
// Memory over time, in a bounded number of points that keeps every peak.
#ifndef GPUTRACE_ANALYZER_ANALYSES_TIMELINE_H_
#define GPUTRACE_ANALYZER_ANALYSES_TIMELINE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "analyzer/analyses/peak.h"
#include "analyzer/ledger/observer.h"

namespace gputrace::analyses {

struct TimelinePoint {
  int64_t time_ns = 0;
  uint64_t bytes = 0;  // held from then on
};

// A step function of time, thinned out while it grows: time is divided into buckets, whose width
// doubles when there are too many, and each keeps the lowest, the highest and the last value that
// it saw, with their exact times.
class StepSeries {
 public:
  // Keeps at most 3 points per bucket. `max_buckets` is at least 2.
  explicit StepSeries(size_t max_buckets) : max_buckets_(max_buckets) {}

  void Set(int64_t time_ns, uint64_t bytes);
  // In order of time; of several at one time the last is what was held from then on.
  std::vector<TimelinePoint> Points() const;

 private:
  struct Step {
    TimelinePoint point;
    uint64_t number = 0;  // of the call of Set
  };
  struct Bucket {
    Step low;
    Step high;
    Step last;
    bool used = false;
    void Add(const Step& step);
    void Merge(const Bucket& later);
  };
  void Widen();

  const size_t max_buckets_;
  int64_t width_ns_ = 1000;
  uint64_t steps_ = 0;
  std::vector<Bucket> buckets_;
};

// One series per device and account, and one over all that fit the filter.
class Timeline final : public ledger::Observer {
 public:
  using Key = std::pair<int32_t, ledger::Account>;

  Timeline(Filter filter, size_t max_buckets)
      : filter_(filter), max_buckets_(max_buckets), total_(max_buckets) {}

  void OnAllocate(const ledger::Allocation& allocation) override;
  void OnFree(const ledger::Allocation& allocation, const ledger::FreeEvent& event) override;
  void OnTakeBack(const ledger::Allocation& allocation, const ledger::FreeEvent& undone,
                  int64_t time_ns) override;
  void OnProcessEnd(const ledger::Allocation& allocation, int64_t time_ns) override;
  void OnResize(const ledger::Allocation& allocation, uint64_t old_bytes, int64_t time_ns) override;

  struct Series {
    explicit Series(size_t max_buckets) : steps(max_buckets) {}
    StepSeries steps;
    uint64_t current = 0;
    uint64_t peak = 0;
    int64_t peak_time_ns = 0;
  };
  const std::map<Key, Series>& series() const { return series_; }
  const Series& total() const { return total_; }

 private:
  void Change(const ledger::Allocation& allocation, uint64_t more, uint64_t less, int64_t time_ns);

  const Filter filter_;
  const size_t max_buckets_;
  std::map<Key, Series> series_;
  Series total_;
};

}  // namespace gputrace::analyses

#endif  // GPUTRACE_ANALYZER_ANALYSES_TIMELINE_H_

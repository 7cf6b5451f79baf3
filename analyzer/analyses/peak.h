// SPDX-License-Identifier: Apache-2.0
// Who held memory when the most was held.
#ifndef GPUTRACE_ANALYZER_ANALYSES_PEAK_H_
#define GPUTRACE_ANALYZER_ANALYSES_PEAK_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/ledger/observer.h"
#include "analyzer/ledger/site_table.h"

namespace gputrace::analyses {

// Which allocations are meant.
struct Filter {
  ledger::AccountSet accounts = ledger::kDeviceAccounts;
  std::optional<int32_t> device;  // all if absent

  bool Holds(const ledger::Allocation& allocation) const {
    return (accounts & ledger::Bit(allocation.account)) != 0 &&
           (!device.has_value() || *device == allocation.device);
  }
};

struct SiteShare {
  uint32_t site = 0;
  uint64_t bytes = 0;
  uint64_t count = 0;  // allocations
};

// The sum of all allocations that fit the filter, and what it was made of when it was highest.
//
// Costs O(1) per event and a few words per site: a site's counters at the peak are copied only when
// they change for the first time after a peak. Until then they are the current ones.
class Peak final : public ledger::Observer {
 public:
  explicit Peak(Filter filter) : filter_(filter) {}

  void OnAllocate(const ledger::Allocation& allocation) override;
  void OnFree(const ledger::Allocation& allocation, const ledger::FreeEvent& event) override;
  void OnTakeBack(const ledger::Allocation& allocation, const ledger::FreeEvent& undone,
                  int64_t time_ns) override;
  void OnProcessEnd(const ledger::Allocation& allocation, int64_t time_ns) override;
  void OnResize(const ledger::Allocation& allocation, uint64_t old_bytes, int64_t time_ns) override;

  const Filter& filter() const { return filter_; }
  uint64_t bytes() const { return peak_bytes_; }
  int64_t time_ns() const { return peak_time_ns_; }  // when it was first that high
  // Held now, or by a process when it ended.
  uint64_t current_bytes() const { return current_bytes_ + survived_bytes_; }
  // The sites that held something at the peak, or hold something now; unordered.
  std::vector<SiteShare> AtPeak() const;
  std::vector<SiteShare> Now() const;

 private:
  struct Counters {
    uint64_t bytes = 0;
    uint64_t count = 0;
    uint64_t peak_bytes = 0;  // valid if `epoch` is the present one
    uint64_t peak_count = 0;
    uint64_t epoch = 0;
    uint64_t survived_bytes = 0;
    uint64_t survived_count = 0;
  };
  Counters& Touch(uint32_t site);
  void Hold(uint32_t site, uint64_t bytes, uint64_t count, int64_t time_ns);
  void Drop(uint32_t site, uint64_t bytes, uint64_t count);

  const Filter filter_;
  ledger::PerSite<Counters> sites_;
  uint64_t epoch_ = 1;  // grows with each new peak
  uint64_t current_bytes_ = 0;
  uint64_t survived_bytes_ = 0;
  uint64_t peak_bytes_ = 0;
  int64_t peak_time_ns_ = 0;
};

}  // namespace gputrace::analyses

#endif  // GPUTRACE_ANALYZER_ANALYSES_PEAK_H_

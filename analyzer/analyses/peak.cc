// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/peak.h"

#include <algorithm>

namespace gputrace::analyses {

using ledger::Allocation;

Peak::Counters& Peak::Touch(uint32_t site) {
  Counters& counters = sites_[site];
  if (counters.epoch != epoch_) {
    counters.epoch = epoch_;
    counters.peak_bytes = counters.bytes;
    counters.peak_count = counters.count;
  }
  return counters;
}

void Peak::Hold(uint32_t site, uint64_t bytes, uint64_t count, int64_t time_ns) {
  Counters& counters = Touch(site);
  counters.bytes += bytes;
  counters.count += count;
  current_bytes_ += bytes;
  if (current_bytes_ <= peak_bytes_) return;
  peak_bytes_ = current_bytes_;
  peak_time_ns_ = time_ns;
  ++epoch_;
}

void Peak::Drop(uint32_t site, uint64_t bytes, uint64_t count) {
  Counters& counters = Touch(site);
  counters.bytes -= std::min(counters.bytes, bytes);
  counters.count -= std::min(counters.count, count);
  current_bytes_ -= std::min(current_bytes_, bytes);
}

void Peak::OnAllocate(const Allocation& allocation) {
  if (filter_.Holds(allocation)) Hold(allocation.site, allocation.bytes, 1, allocation.time_ns);
}
void Peak::OnFree(const Allocation& allocation, const ledger::FreeEvent&) {
  if (filter_.Holds(allocation)) Drop(allocation.site, allocation.bytes, 1);
}
void Peak::OnTakeBack(const Allocation& allocation, const ledger::FreeEvent&, int64_t time_ns) {
  if (filter_.Holds(allocation)) Hold(allocation.site, allocation.bytes, 1, time_ns);
}
void Peak::OnProcessEnd(const Allocation& allocation, int64_t) {
  if (!filter_.Holds(allocation)) return;
  Drop(allocation.site, allocation.bytes, 1);
  Counters& counters = sites_[allocation.site];
  counters.survived_bytes += allocation.bytes;
  ++counters.survived_count;
  survived_bytes_ += allocation.bytes;
}
void Peak::OnResize(const Allocation& allocation, uint64_t old_bytes, int64_t time_ns) {
  if (!filter_.Holds(allocation)) return;
  Drop(allocation.site, old_bytes, 0);
  Hold(allocation.site, allocation.bytes, 0, time_ns);
}

std::vector<SiteShare> Peak::AtPeak() const {
  std::vector<SiteShare> shares;
  for (uint32_t site = 0; site < sites_.values().size(); ++site) {
    const Counters& counters = sites_.values()[site];
    const bool changed_since = counters.epoch == epoch_;
    const SiteShare share{site, changed_since ? counters.peak_bytes : counters.bytes,
                          changed_since ? counters.peak_count : counters.count};
    if (share.count > 0) shares.push_back(share);
  }
  return shares;
}

std::vector<SiteShare> Peak::Now() const {
  std::vector<SiteShare> shares;
  for (uint32_t site = 0; site < sites_.values().size(); ++site) {
    const Counters& counters = sites_.values()[site];
    const SiteShare share{site, counters.bytes + counters.survived_bytes,
                          counters.count + counters.survived_count};
    if (share.count > 0) shares.push_back(share);
  }
  return shares;
}

}  // namespace gputrace::analyses

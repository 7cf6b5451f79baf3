// SPDX-License-Identifier: Apache-2.0
// Sites: the distinct pairs of native and Python stack from which allocations were made, numbered
// densely over all processes of a job, so that analyses can keep per-site counters in vectors.
#ifndef GPUTRACE_ANALYZER_LEDGER_SITE_TABLE_H_
#define GPUTRACE_ANALYZER_LEDGER_SITE_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace gputrace::ledger {

struct Site {
  uint32_t process = 0;
  uint32_t native_stack = 0;  // dictionary ids of that process; 0: none
  uint32_t python_stack = 0;
};

class SiteTable {
 public:
  // The number of a site, which is new if it was never asked for. O(1).
  uint32_t Find(uint32_t process, uint32_t native_stack, uint32_t python_stack);
  const Site& operator[](uint32_t site) const { return sites_[site]; }
  size_t size() const { return sites_.size(); }

 private:
  struct PerProcess {
    std::vector<uint32_t> native_only;  // by native stack: site + 1
    absl::flat_hash_map<std::pair<uint32_t, uint32_t>, uint32_t> mixed;
  };
  std::vector<Site> sites_;
  std::vector<PerProcess> processes_;
};

// A vector over sites that grows as sites appear.
template <typename T>
class PerSite {
 public:
  T& operator[](uint32_t site) {
    if (site >= values_.size()) values_.resize(site + size_t{1} + values_.size() / 2);
    return values_[site];
  }
  const std::vector<T>& values() const { return values_; }

 private:
  std::vector<T> values_;
};

}  // namespace gputrace::ledger

#endif  // GPUTRACE_ANALYZER_LEDGER_SITE_TABLE_H_

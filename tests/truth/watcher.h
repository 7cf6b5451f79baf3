// SPDX-License-Identifier: Apache-2.0
// Follows the analyzer's ledger while it reads a trace, and keeps account of what it says.
#ifndef GPUTRACE_TESTS_TRUTH_WATCHER_H_
#define GPUTRACE_TESTS_TRUTH_WATCHER_H_

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "analyzer/ingest/job.h"
#include "analyzer/ledger/ledger.h"
#include "tests/truth/account.h"

namespace gputrace::truth {

class Watcher final : public ledger::Observer {
 public:
  // `job` has one process. Both outlive it.
  Watcher(const ingest::Job& job, Account* account);

  // To be called before the record is applied.
  void Next(const trace::Record& record);

  void OnAllocate(const ledger::Allocation& allocation) override;
  void OnFree(const ledger::Allocation& allocation, const ledger::FreeEvent& event) override;
  void OnTakeBack(const ledger::Allocation& allocation, const ledger::FreeEvent& event,
                  int64_t time_ns) override;
  void OnSample(const ledger::Sample& sample) override;

  // The first pool of which the driver said, at a quiet point, that another amount of it is used
  // than the ledger has; empty if there is none.
  const std::string& wrong_sample() const { return wrong_sample_; }

 private:
  void Count(const ledger::Allocation& allocation, bool begins);
  Change Describe(const ledger::Allocation& allocation, bool begins) const;
  int32_t OrdinalOf(int32_t device) const;

  const ingest::Job& job_;
  Account& account_;
  uint64_t number_ = 0;
  std::string_view call_;
  bool quiet_ = false;
  absl::flat_hash_map<uint64_t, uint64_t> used_;  // by pool, in blocks of the driver
  std::string wrong_sample_;
};

}  // namespace gputrace::truth

#endif  // GPUTRACE_TESTS_TRUTH_WATCHER_H_

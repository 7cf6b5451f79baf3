// SPDX-License-Identifier: Apache-2.0
// How far a trace, and so everything that is said from it, can be trusted.
#ifndef GPUTRACE_ANALYZER_ANALYSES_TRUST_H_
#define GPUTRACE_ANALYZER_ANALYSES_TRUST_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analyzer/ingest/job.h"
#include "analyzer/ledger/ledger.h"

namespace gputrace::analyses {

struct Trust {
  bool ledger_complete = true;       // every change of memory is known
  bool attribution_complete = true;  // and so is who made it
  std::vector<std::string> reasons;  // one sentence each, for people
  uint64_t lost_events = 0;
  uint64_t truncated_stacks = 0;
  uint64_t unknown_frees = 0;
  uint64_t unresolved_modules = 0;  // set by whoever symbolises
  std::vector<std::string> uncovered_entries;
  std::vector<std::string> bypasses;
  struct Tracer {
    std::optional<uint64_t> cpu_ns;
    std::optional<uint64_t> p50_ns;
    std::optional<uint64_t> p99_ns;
    std::optional<uint64_t> rss;
  } tracer;
};

// Collects what records say of the trace itself while they pass.
class TrustCollector {
 public:
  // By which ways a process reached the driver: symbols by CoverageWhat.
  using Ways = std::map<trace::CoverageWhat, std::set<std::string>>;

  explicit TrustCollector(const ingest::Job* job) : job_(job), ways_(job->processes().size()) {}

  void Observe(const ingest::TimedRecord& timed);
  // Of what has passed, by process.
  const Ways& ways(size_t process) const { return ways_[process]; }
  // After the last record. `ledgers` by process; empty if none were kept.
  Trust Judge(const std::vector<const ledger::Ledger*>& ledgers) const;

 private:
  void JudgeTrace(const ingest::Process& process, Trust* trust) const;
  void JudgeLedger(const ledger::Ledger& ledger, const std::string& where, Trust* trust) const;
  void JudgeCoverage(Trust* trust) const;
  std::string Where(const ingest::Process& process) const;

  const ingest::Job* const job_;
  std::vector<Ways> ways_;
  bool paused_ = false;
};

}  // namespace gputrace::analyses

#endif  // GPUTRACE_ANALYZER_ANALYSES_TRUST_H_

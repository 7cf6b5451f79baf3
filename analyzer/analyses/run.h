// SPDX-License-Identifier: Apache-2.0
// Runs the ledgers of a job over its records, with analyses observing.
#ifndef GPUTRACE_ANALYZER_ANALYSES_RUN_H_
#define GPUTRACE_ANALYZER_ANALYSES_RUN_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "analyzer/analyses/trust.h"
#include "analyzer/ingest/job.h"
#include "analyzer/ledger/ledger.h"

namespace gputrace::analyses {

struct RunOptions {
  std::optional<int64_t> until_ns;     // records after this moment are left out
  std::optional<uint64_t> max_memory;  // bytes of resident memory at which to give up
  // Called with each record. May be empty.
  std::function<void(const ingest::TimedRecord&)> on_record;
  // Called now and then with the share that has been read, 0 to 1. May be empty.
  std::function<void(double)> progress;
};

struct RunResult {
  std::unique_ptr<ledger::ShareTable> shares = std::make_unique<ledger::ShareTable>();
  std::vector<std::unique_ptr<ledger::Ledger>> ledgers;  // by process
  int64_t end_ns = 0;  // the job's end: of the last record, or of a process's orderly exit
  uint64_t records = 0;
  std::vector<const ledger::Ledger*> ledger_pointers() const;
};

// Reads the job once. `sites`, the observers and `trust` must live as long as the result. Fails
// with kResourceExhausted if max_memory is not enough.
absl::StatusOr<RunResult> RunLedgers(ingest::Job* job, ledger::SiteTable* sites,
                                     const std::vector<ledger::Observer*>& observers,
                                     TrustCollector* trust, const RunOptions& options);

}  // namespace gputrace::analyses

#endif  // GPUTRACE_ANALYZER_ANALYSES_RUN_H_

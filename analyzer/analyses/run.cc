// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/run.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "absl/strings/str_cat.h"

namespace gputrace::analyses {
namespace {

// How often it is looked at the clock and at the memory: seldom enough to cost nothing.
constexpr uint64_t kCheckEvery = 1 << 18;

uint64_t ResidentBytes() {
  uint64_t pages = 0;
  uint64_t resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

uint64_t CountRecords(const ingest::Job& job) {
  uint64_t records = 0;
  for (const ingest::Process& process : job.processes()) {
    for (const trace::BlockInfo& block : process.reader->blocks()) {
      if (block.header.layout == static_cast<uint8_t>(trace::BlockLayout::kColumns)) {
        records += block.header.records;
      }
    }
  }
  return records;
}

}  // namespace

std::vector<const ledger::Ledger*> RunResult::ledger_pointers() const {
  std::vector<const ledger::Ledger*> pointers;
  pointers.reserve(ledgers.size());
  for (const auto& ledger : ledgers) pointers.push_back(ledger.get());
  return pointers;
}

absl::StatusOr<RunResult> RunLedgers(ingest::Job* job, ledger::SiteTable* sites,
                                     const std::vector<ledger::Observer*>& observers,
                                     TrustCollector* trust, const RunOptions& options) {
  RunResult result;
  for (uint32_t i = 0; i < job->processes().size(); ++i) {
    ledger::ProcessDescription process = job->Describe(i);
    process.shares = result.shares.get();
    result.ledgers.push_back(
        std::make_unique<ledger::Ledger>(std::move(process), sites, observers));
    const std::optional<trace::End>& end = job->processes()[i].reader->dictionary().end();
    if (!end.has_value()) continue;
    result.end_ns = std::max(result.end_ns, end->time_ns + job->processes()[i].offset_ns);
  }
  const uint64_t expected = std::max<uint64_t>(CountRecords(*job), 1);
  const int64_t until_ns = options.until_ns.value_or(INT64_MAX);
  bool out_of_memory = false;
  const auto visit = [&](const ingest::TimedRecord& timed) {
    if (++result.records % kCheckEvery == 0) {
      if (options.progress) {
        options.progress(
            std::min(1.0, static_cast<double>(result.records) / static_cast<double>(expected)));
      }
      out_of_memory |= options.max_memory.has_value() && ResidentBytes() > *options.max_memory;
    }
    if (out_of_memory || timed.record.time_ns > until_ns) return;
    result.end_ns = std::max(result.end_ns, timed.record.time_ns);
    trust->Observe(timed);
    if (options.on_record) options.on_record(timed);
    result.ledgers[timed.process]->Apply(timed.record);
  };
  const auto on_end = [&](uint32_t process, int64_t time_ns) {
    if (out_of_memory || time_ns > until_ns) return;
    for (const ledger::Allocation& allocation : result.ledgers[process]->slots()) {
      if (!allocation.live) continue;
      for (ledger::Observer* observer : observers) observer->OnProcessEnd(allocation, time_ns);
    }
    result.ledgers[process]->stream_order().ForEachPending([&](const ledger::PendingFree& free) {
      for (ledger::Observer* observer : observers) observer->OnProcessEnd(free.allocation, time_ns);
    });
  };
  absl::Status status = job->ForEach(visit, on_end);
  if (!status.ok()) return status;
  if (out_of_memory) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "this needs more memory than --max-memory allows (", *options.max_memory, " bytes)"));
  }
  return result;
}

}  // namespace gputrace::analyses

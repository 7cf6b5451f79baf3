// SPDX-License-Identifier: Apache-2.0
// Compares what the analyzer makes of a trace with what the stand-in driver wrote in its journal:
// change by change for each address and handle (kind, size, device, pool and the call that did it),
// and totals where the program was quiet, where the driver also says what its pools use. Calls are
// counted on both sides, too.
//
// Not compared, because no call shows it: what pools reserve, memory of graphs, what contexts take,
// modules that libraries load. Of these a trace has what the program asked the driver for.
//
// usage: truth_compare JOURNAL LEDGER TRACE   exits with 1 and describes the first difference
//        truth_compare --child TRACE          nothing may have changed
//        truth_compare --teeth JOURNAL TRACE  for each entry in the trace: whether leaving out its
//                                             records, as if it were not hooked, is noticed
#include <cstdio>
#include <string>
#include <vector>

#include "analyzer/ingest/job.h"
#include "analyzer/ledger/ledger.h"
#include "tests/truth/call_counts.h"
#include "tests/truth/journal.h"
#include "tests/truth/watcher.h"

namespace gputrace::truth {
namespace {

// What the ledger itself found odd: nothing may be.
std::string Complaints(const ledger::LedgerCounters& counters) {
  std::string text;
  const auto add = [&text](const char* what, uint64_t count) {
    if (count > 0) text += std::string(what) + ": " + std::to_string(count) + "\n";
  };
  add("frees of what was never made", counters.unknown_frees);
  add("addresses that came into being twice", counters.unseen_frees);
  add("malformed records", counters.malformed);
  add("unknown entries", counters.unknown_entries);
  return text;
}

class Comparison {
 public:
  explicit Comparison(std::unique_ptr<ingest::Job> job) : job_(std::move(job)) {}

  const trace::Dictionary& dictionary() const { return job_->processes()[0].reader->dictionary(); }

  // The first difference, or what the ledger found odd; empty if all is well. Records of
  // `left_out` are passed over; 0: none.
  absl::StatusOr<std::string> Run(const Account& theirs, uint16_t left_out, CallCounts* counts) {
    Account ours;
    Watcher watcher(*job_, &ours);
    ledger::SiteTable sites;
    ledger::Ledger ledger(job_->Describe(0), &sites, {&watcher});
    const absl::Status read = job_->ForEach([&](const ingest::TimedRecord& timed) {
      if (left_out != 0 && timed.record.entry == left_out) return;
      counts->Count(timed.record);
      watcher.Next(timed.record);
      ledger.Apply(timed.record);
    });
    if (!read.ok()) return read;
    std::string difference = FirstDifference(theirs, ours);
    if (difference.empty()) difference = watcher.wrong_sample();
    if (difference.empty()) difference = Complaints(ledger.counters());
    if (difference.empty() && !job_->complete()) difference = "the trace is not complete\n";
    return difference;
  }

 private:
  std::unique_ptr<ingest::Job> job_;
};

absl::StatusOr<std::unique_ptr<Comparison>> Open(const std::string& trace) {
  absl::StatusOr<std::unique_ptr<ingest::Job>> job = ingest::Job::Open({trace});
  if (!job.ok()) return job.status();
  return std::make_unique<Comparison>(*std::move(job));
}

absl::StatusOr<std::string> Compare(const std::string& journal, const std::string& ledger,
                                    const std::string& trace) {
  auto comparison = Open(trace);
  if (!comparison.ok()) return comparison.status();
  Account theirs;
  std::string error;
  if (!journal.empty() && !ReadJournal(journal, &theirs, &error)) {
    return absl::NotFoundError(error);
  }
  CallCounts counts((*comparison)->dictionary());
  absl::StatusOr<std::string> difference = (*comparison)->Run(theirs, 0, &counts);
  if (difference.ok() && difference->empty() && !ledger.empty()) {
    *difference = counts.Compare(ledger);
  }
  if (difference.ok() && difference->empty()) {
    printf("%zu changes, %zu quiet points: equal\n", static_cast<size_t>(theirs.size()),
           theirs.quiet_points().size());
  }
  return difference;
}

absl::StatusOr<std::string> TryTeeth(const std::string& journal, const std::string& trace) {
  auto comparison = Open(trace);
  if (!comparison.ok()) return comparison.status();
  Account theirs;
  std::string error;
  if (!ReadJournal(journal, &theirs, &error)) return absl::NotFoundError(error);
  for (const trace::EntryDescriptor& entry : (*comparison)->dictionary().entries()) {
    CallCounts counts((*comparison)->dictionary());
    const auto difference = (*comparison)->Run(theirs, entry.id, &counts);
    if (!difference.ok()) return difference.status();
    printf("%s %s %s\n", entry.symbol.c_str(),
           entry.entry_class == trace::EntryClass::kRecord ? "record" : "observe",
           difference->empty() ? "unnoticed" : "noticed");
  }
  return "";
}

}  // namespace
}  // namespace gputrace::truth

int main(int count, char** values) {
  const std::vector<std::string> arguments(values + 1, values + count);
  absl::StatusOr<std::string> difference = absl::InvalidArgumentError("wrong arguments");
  if (arguments.size() == 3 && arguments[0] == "--teeth") {
    difference = gputrace::truth::TryTeeth(arguments[1], arguments[2]);
  } else if (arguments.size() == 2 && arguments[0] == "--child") {
    difference = gputrace::truth::Compare("", "", arguments[1]);
  } else if (arguments.size() == 3) {
    difference = gputrace::truth::Compare(arguments[0], arguments[1], arguments[2]);
  }
  if (!difference.ok()) {
    fprintf(stderr, "truth_compare: %s\n", difference.status().ToString().c_str());
    return 2;
  }
  fputs(difference->c_str(), stdout);
  return difference->empty() ? 0 : 1;
}

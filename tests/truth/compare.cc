// SPDX-License-Identifier: Apache-2.0
// Compares what the analyzer makes of a trace with what the stand-in driver wrote in its journal:
// change by change for each address and handle (kind, size, device, pool and the call that did it),
// and totals where the program was quiet.
//
// Not compared, because no call shows it: what pools reserve, memory of graphs, what contexts take,
// modules that libraries load. Of these a trace has what the program asked the driver for.
//
// usage: truth_compare [--without SYMBOL] JOURNAL TRACE
// Exits with 1 and describes the first difference if there is one. --without leaves out the records
// of an entry, as if it were not hooked: the comparison must then fail.
#include <cstdio>
#include <string>
#include <vector>

#include "analyzer/ingest/job.h"
#include "analyzer/ledger/ledger.h"
#include "tests/truth/journal.h"
#include "tests/truth/watcher.h"

namespace gputrace::truth {
namespace {

struct Arguments {
  std::string without;
  std::string journal;
  std::string trace;
};

bool ReadArguments(int count, char** values, Arguments* arguments) {
  std::vector<std::string> rest(values + 1, values + count);
  if (rest.size() > 2 && rest[0] == "--without") {
    arguments->without = rest[1];
    rest.erase(rest.begin(), rest.begin() + 2);
  }
  if (rest.size() != 2) return false;
  arguments->journal = rest[0];
  arguments->trace = rest[1];
  return true;
}

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

absl::StatusOr<std::string> Compare(const Arguments& arguments) {
  absl::StatusOr<std::unique_ptr<ingest::Job>> job = ingest::Job::Open({arguments.trace});
  if (!job.ok()) return job.status();
  Account ours;
  Watcher watcher(**job, &ours);
  ledger::SiteTable sites;
  ledger::Ledger ledger((*job)->Describe(0), &sites, {&watcher});
  const trace::Dictionary& dictionary = (*job)->processes()[0].reader->dictionary();
  uint16_t left_out = 0;
  for (const trace::EntryDescriptor& entry : dictionary.entries()) {
    if (entry.symbol == arguments.without) left_out = entry.id;
  }
  uint64_t records = 0;
  const absl::Status read = (*job)->ForEach([&](const ingest::TimedRecord& timed) {
    ++records;
    if (left_out != 0 && timed.record.entry == left_out) return;
    watcher.Next(timed.record);
    ledger.Apply(timed.record);
  });
  if (!read.ok()) return read;
  Account theirs;
  std::string error;
  if (!ReadJournal(arguments.journal, &theirs, &error)) return absl::NotFoundError(error);
  std::string difference = FirstDifference(theirs, ours);
  if (difference.empty()) difference = Complaints(ledger.counters());
  if (difference.empty() && !(*job)->complete()) difference = "the trace is not complete\n";
  if (!difference.empty()) return difference;
  printf("%zu changes, %zu records, %zu quiet points\n", static_cast<size_t>(theirs.size()),
         static_cast<size_t>(records), theirs.quiet_points().size());
  return "";
}

}  // namespace
}  // namespace gputrace::truth

int main(int count, char** values) {
  gputrace::truth::Arguments arguments;
  if (!gputrace::truth::ReadArguments(count, values, &arguments)) return 2;
  const absl::StatusOr<std::string> difference = gputrace::truth::Compare(arguments);
  if (!difference.ok()) {
    fprintf(stderr, "truth_compare: %s\n", difference.status().ToString().c_str());
    return 2;
  }
  fputs(difference->c_str(), stdout);
  return difference->empty() ? 0 : 1;
}

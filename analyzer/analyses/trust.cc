// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/trust.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace gputrace::analyses {
namespace {

using trace::CoverageOperand;
using trace::CoverageWhat;
using trace::LossOperand;
using trace::LossReason;
using trace::RecordKind;

uint64_t OperandOf(const trace::Record& record, size_t position) {
  return position < record.operands.size() ? record.operands[position] : 0;
}

void AddNumber(const trace::Dictionary& dictionary, const std::string& key,
               std::optional<uint64_t>* sum, bool is_sum) {
  uint64_t value = 0;
  if (!absl::SimpleAtoi(std::string(dictionary.fact(key)), &value)) return;
  const uint64_t before = sum->value_or(0);
  *sum = is_sum ? before + value : std::max(before, value);
}

}  // namespace

void TrustCollector::Observe(const ingest::TimedRecord& timed) {
  const trace::Record& record = timed.record;
  if (record.kind == RecordKind::kCoverage) {
    const trace::Dictionary& dictionary = job_->processes()[timed.process].reader->dictionary();
    const auto name_id =
        static_cast<uint32_t>(OperandOf(record, static_cast<size_t>(CoverageOperand::kName)));
    const auto what =
        static_cast<CoverageWhat>(OperandOf(record, static_cast<size_t>(CoverageOperand::kWhat)));
    ways_[timed.process][what].insert(std::string(dictionary.string(name_id)));
  } else if (record.kind == RecordKind::kLoss) {
    const auto reason =
        static_cast<LossReason>(OperandOf(record, static_cast<size_t>(LossOperand::kReason)));
    paused_ |= reason == LossReason::kPaused;
  }
}

std::string TrustCollector::Where(const ingest::Process& process) const {
  return job_->processes().size() > 1 ? absl::StrCat(process.path, ": ") : "";
}

void TrustCollector::JudgeTrace(const ingest::Process& process, Trust* trust) const {
  const trace::Health& health = process.reader->health();
  const std::string where = Where(process);
  for (const std::string& reason : health.reasons) {
    trust->reasons.push_back(absl::StrCat(where, reason));
  }
  for (const std::string& damage : process.damage) {
    trust->reasons.push_back(absl::StrCat(where, damage));
  }
  if (!health.complete || !process.damage.empty()) trust->ledger_complete = false;
  trust->lost_events += health.lost_events;
  trust->truncated_stacks += health.truncated_stacks;
  if (health.lost_definitions > 0) trust->attribution_complete = false;
  const trace::Dictionary& dictionary = process.reader->dictionary();
  for (const auto& [key, text] : dictionary.facts()) {
    if (absl::StartsWith(key, "option_error.")) {
      trust->reasons.push_back(
          absl::StrCat(where, key.substr(sizeof("option_error.") - 1), ": ", text));
    }
  }
  for (const std::string& trouble : dictionary.troubles()) {
    trust->reasons.push_back(absl::StrCat(where, "the tracer reports: ", trouble));
  }
  if (dictionary.fact("option.GPUTRACE_STACKS") == "off") {
    trust->attribution_complete = false;
    trust->reasons.push_back(absl::StrCat(where, "stacks were not recorded (GPUTRACE_STACKS=off)"));
  }
  AddNumber(dictionary, "tracer.cpu_ns", &trust->tracer.cpu_ns, true);
  AddNumber(dictionary, "tracer.p50_ns", &trust->tracer.p50_ns, false);
  AddNumber(dictionary, "tracer.p99_ns", &trust->tracer.p99_ns, false);
  AddNumber(dictionary, "tracer.rss", &trust->tracer.rss, true);
}

void TrustCollector::JudgeLedger(const ledger::Ledger& ledger, const std::string& where,
                                 Trust* trust) const {
  const ledger::LedgerCounters& counters = ledger.counters();
  trust->unknown_frees += counters.unknown_frees;
  const auto distrust = [&](uint64_t count, const char* what) {
    if (count == 0) return;
    trust->ledger_complete = false;
    trust->reasons.push_back(absl::StrCat(where, count, what));
  };
  distrust(counters.unseen_frees,
           " addresses were allocated again without having been seen freed: frees are missing");
  distrust(counters.malformed, " calls lack what must be known of them");
  distrust(counters.unknown_entries, " calls are of functions that the trace does not describe");
  if (counters.unknown_frees > 0) {
    trust->reasons.push_back(absl::StrCat(
        where, counters.unknown_frees, " frees are of memory that was not seen being allocated"));
  }
}

void TrustCollector::JudgeCoverage(Trust* trust) const {
  std::set<std::string> handed_out;  // their calls would have been made past the tracer
  std::set<std::string> uncovered;
  for (const Ways& ways : ways_) {
    for (const auto& [what, names] : ways) {
      const bool is_handed_out =
          what == CoverageWhat::kUnknownEntry || what == CoverageWhat::kUnwrappedPointer;
      if (is_handed_out) handed_out.insert(names.begin(), names.end());
      if (is_handed_out || what == CoverageWhat::kUnknownExport) {
        uncovered.insert(names.begin(), names.end());
      }
    }
  }
  for (const std::string& name : handed_out) {
    trust->ledger_complete = false;
    trust->reasons.push_back(absl::StrCat("calls of ", name, " may have been made unrecorded"));
  }
  trust->uncovered_entries.assign(uncovered.begin(), uncovered.end());
  if (paused_) {
    trust->ledger_complete = false;
    trust->reasons.push_back("recording was paused for a while");
  }
}

Trust TrustCollector::Judge(const std::vector<const ledger::Ledger*>& ledgers) const {
  Trust trust;
  for (const ingest::Process& process : job_->processes()) JudgeTrace(process, &trust);
  for (size_t i = 0; i < ledgers.size(); ++i) {
    JudgeLedger(*ledgers[i], Where(job_->processes()[i]), &trust);
  }
  JudgeCoverage(&trust);
  if (trust.truncated_stacks > 0) {
    trust.attribution_complete = false;
    trust.reasons.push_back(
        absl::StrCat(trust.truncated_stacks, " stacks are cut off at their outer end"));
  }
  return trust;
}

}  // namespace gputrace::analyses

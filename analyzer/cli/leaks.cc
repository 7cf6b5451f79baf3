// SPDX-License-Identifier: Apache-2.0
// gputrace leaks: what the program did not free, with what may be said about it.
#include <map>

#include "absl/strings/str_cat.h"
#include "analyzer/analyses/leaks.h"
#include "analyzer/cli/command.h"
#include "analyzer/cli/session.h"
#include "analyzer/cli/text.h"
#include "analyzer/report/json.h"
#include "analyzer/report/units.h"
#include "nlohmann/json.hpp"

namespace gputrace::cli {
namespace {

using analyses::Fate;
using analyses::Finding;
using ledger::Account;
using report::Json;

constexpr size_t kDefaultTop = 10;
constexpr size_t kFrames = 8;
constexpr ledger::AccountSet kKinds =
    ledger::kDeviceAccounts | ledger::kHostAccounts | ledger::Bit(Account::kManaged) |
    ledger::Bit(Account::kReservedVa) | ledger::Bit(Account::kAlias);

Json EvidenceJson(Session* session, const Finding& finding) {
  Json json;
  json["allocations"] = finding.site_allocations;
  json["freed_by_call"] = finding.site_frees;
  json["library"] = session->owners().name(session->owners().OwnerOf(finding.site));
  if (finding.account == Account::kVmm) {
    json["handle_references"] = finding.references;
    json["mappings"] = finding.mappings;
  }
  return json;
}

Json FindingJson(Session* session, const Finding& finding) {
  Json json;
  json["verdict"] = std::string(analyses::VerdictName(finding.verdict));
  json["behaviour"] = report::TextOrNull(analyses::BehaviourName(finding.behaviour));
  json["fate"] = std::string(analyses::FateName(finding.fate));
  json["owner"] = std::string(analyses::OwnerClassName(finding.owner));
  json["bytes"] = finding.bytes;
  json["count"] = finding.count;
  json["stack"] = report::FramesJson(session->stacks().Frames(finding.site));
  json["fingerprint"] = session->stacks().Fingerprint(finding.site);
  json["kind"] = std::string(ledger::KindName(finding.account));
  json["device"] = report::DeviceIndexJson(finding.device);
  json["missing_call"] = report::TextOrNull(finding.missing_call);
  json["evidence"] = EvidenceJson(session, finding);
  json["first"] = finding.first_ns;
  json["last"] = finding.last_ns;
  json["growth_per_phase"] = nullptr;
  json["phase_unit"] = nullptr;
  return json;
}

void PrintJson(Session* session, const analyses::RunResult& result,
               const std::vector<Finding>& findings, Output* out) {
  Json verdicts = Json::array();
  std::map<analyses::Verdict, std::pair<uint64_t, uint64_t>> sums;  // bytes, count
  const size_t top = session->options().top.value_or(0);
  for (size_t i = 0; i < findings.size(); ++i) {
    sums[findings[i].verdict].first += findings[i].bytes;
    sums[findings[i].verdict].second += findings[i].count;
    if (top == 0 || i < top) verdicts.push_back(FindingJson(session, findings[i]));
  }
  Json by_verdict = Json::object();
  for (const auto& [verdict, sum] : sums) {
    by_verdict[std::string(analyses::VerdictName(verdict))] = {{"bytes", sum.first},
                                                               {"count", sum.second}};
  }
  Json json = report::BeginDocument("leaks", session->job(), session->Trust(result));
  json["verdicts"] = std::move(verdicts);
  json["totals"] = {{"by_verdict", std::move(by_verdict)}};
  json["power"] = {{"phases", 0}, {"smallest_detectable_per_phase", nullptr}};
  out->Write(report::Render(json));
}

const char* VerdictText(const Finding& finding) {
  switch (finding.verdict) {
    case analyses::Verdict::kOneShotSurvivor:
      return "allocated once and kept";
    case analyses::Verdict::kLateFreed:
      return finding.fate == Fate::kFreedByContextDestruction
                 ? "freed only by the end of its context"
                 : "freed only after the program's end";
    default:
      return "undecided: without phases nobody can tell whether it grows";
  }
}

void PrintFinding(Session* session, const Finding& finding, Output* out) {
  const report::Terminal& terminal = session->terminal();
  const std::string where = finding.device == ledger::kHost
                                ? ""
                                : absl::StrCat(" on ", session->DeviceName(finding.device));
  out->Write(absl::StrCat(terminal.Paint(report::Style::kNumber,
                                         report::PadLeft(report::FormatBytes(finding.bytes), 10)),
                          "  ", report::FormatCount(finding.count),
                          finding.count == 1 ? " allocation" : " allocations", " of ",
                          std::string(ledger::AccountTitle(finding.account)), " memory", where,
                          ", owner ", std::string(analyses::OwnerClassName(finding.owner)), "\n"));
  out->Write(absl::StrCat("      ", VerdictText(finding), "; this stack allocated ",
                          report::FormatCount(finding.site_allocations), " and freed ",
                          report::FormatCount(finding.site_frees)));
  if (finding.fate == Fate::kAlive && !finding.missing_call.empty()) {
    out->Write(absl::StrCat("; missing: ", std::string(finding.missing_call)));
  }
  out->Write("\n");
  PrintStack(*session, finding.site, kFrames, out);
}

// Findings of some fates under a heading of their own.
void PrintPart(Session* session, const std::vector<Finding>& findings, bool alive, Output* out) {
  uint64_t bytes = 0;
  uint64_t count = 0;
  size_t stacks = 0;
  for (const Finding& finding : findings) {
    if ((finding.fate == Fate::kAlive) != alive) continue;
    bytes += finding.bytes;
    count += finding.count;
    ++stacks;
  }
  if (stacks == 0 && !alive) return;
  PrintHeading(*session,
               absl::StrCat(alive ? "Alive at the end: " : "Freed, but not by a call in time: ",
                            report::FormatCount(count), count == 1 ? " allocation" : " allocations",
                            " with ", report::FormatBytes(bytes), " in ", stacks,
                            stacks == 1 ? " group" : " groups"),
               out);
  const size_t asked = session->options().top.value_or(kDefaultTop);
  const size_t top = asked == 0 ? findings.size() : asked;
  size_t shown = 0;
  for (const Finding& finding : findings) {
    if ((finding.fate == Fate::kAlive) != alive) continue;
    if (shown++ < top) PrintFinding(session, finding, out);
  }
  if (stacks > top) {
    out->Write(session->terminal().Paint(
        report::Style::kFaint, absl::StrCat("  … ", stacks - top, " more (--top 0 shows all)\n")));
  }
}

absl::Status Leaks(Session* session, Output* out, bool* trustworthy) {
  analyses::Leaks leaks(session->filter(kKinds));
  absl::StatusOr<analyses::RunResult> result = session->Run({&leaks});
  if (!result.ok()) return result.status();
  std::vector<Finding> findings = leaks.Findings(result->ledger_pointers(), &session->owners());
  std::erase_if(findings, [&](const Finding& finding) {
    return finding.bytes < session->options().min_size;
  });
  *trustworthy = session->Trust(*result).ledger_complete;
  if (session->options().json) {
    PrintJson(session, *result, findings, out);
    return absl::OkStatus();
  }
  PrintProcesses(session, result->end_ns, out);
  PrintPart(session, findings, true, out);
  PrintPart(session, findings, false, out);
  const analyses::Trust trust = session->Trust(*result);
  if (!trust.reasons.empty()) out->Write("\n");
  PrintTrust(*session, trust, out);
  return absl::OkStatus();
}

}  // namespace

int RunLeaks(CommonOptions* options) { return RunOnTraces(options, Leaks); }

}  // namespace gputrace::cli

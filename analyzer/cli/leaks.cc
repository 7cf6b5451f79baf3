// SPDX-License-Identifier: Apache-2.0
// gputrace leaks: what the program did not free, with what may be said about it.
#include <map>

#include "absl/strings/str_cat.h"
#include "analyzer/analyses/leaks.h"
#include "analyzer/cli/command.h"
#include "analyzer/cli/session.h"
#include "analyzer/cli/text.h"
#include "analyzer/report/json.h"
#include "analyzer/report/results.h"
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
constexpr ledger::AccountSet kObjects = analyses::kLeakableObjects | ledger::Bit(Account::kContext);

bool IsObject(const Finding& finding) {
  return static_cast<size_t>(finding.account) >= ledger::kMemoryAccounts;
}

// What is found: memory, or what was asked for with --kind; and objects that nobody asked for.
struct Findings {
  std::vector<Finding> memory;
  std::vector<Finding> objects;
};

Json RefusalsJson(Session* session, const Finding& finding) {
  Json json = Json::array();
  for (const analyses::Refusal& refusal : finding.refusals) {
    json.push_back({{"result", refusal.result},
                    {"count", refusal.count},
                    {"stack", report::FramesJson(session->stacks().Frames(refusal.site))}});
  }
  return json;
}

Json EvidenceJson(Session* session, const ledger::ShareTable& shares, const Finding& finding) {
  Json json;
  json["allocations"] = finding.site_allocations;
  json["freed_by_call"] = finding.site_frees;
  json["library"] = session->owners().name(session->owners().OwnerOf(finding.site));
  if (finding.account == Account::kVmm) {
    json["handle_references"] = finding.references;
    json["mappings"] = finding.mappings;
  }
  if (finding.account == Account::kGraphExec) json["launches"] = finding.launches;
  if (finding.account == Account::kContext) json["nothing_allocated"] = finding.is_stray;
  if (finding.origin != 0) {
    const ledger::Allocation& shared = shares[finding.origin];
    json["exported_by"] = {{"trace", shared.process},
                           {"stack", report::FramesJson(session->stacks().Frames(shared.site))}};
  }
  if (!finding.refusals.empty()) json["failed_frees"] = RefusalsJson(session, finding);
  return json;
}

Json FindingJson(Session* session, const ledger::ShareTable& shares, const Finding& finding) {
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
  json["evidence"] = EvidenceJson(session, shares, finding);
  json["first"] = finding.first_ns;
  json["last"] = finding.last_ns;
  json["growth_per_phase"] = nullptr;
  json["phase_unit"] = nullptr;
  return json;
}

// Those of several ledgers with one stack stay apart: they are of different processes.
Json UnknownFreesJson(Session* session, const analyses::RunResult& result) {
  Json json = Json::array();
  for (size_t process = 0; process < result.ledgers.size(); ++process) {
    const trace::Dictionary& dictionary = session->job().processes()[process].reader->dictionary();
    const ledger::UnknownFrees& frees = result.ledgers[process]->unknown_frees();
    const std::map<ledger::UnknownFrees::key_type, uint64_t> in_order(frees.begin(), frees.end());
    for (const auto& [key, count] : in_order) {
      if (count == 0) continue;
      const trace::EntryDescriptor* entry = dictionary.entry(key.first);
      json.push_back({{"call", entry != nullptr ? Json(entry->symbol) : Json(nullptr)},
                      {"count", count},
                      {"stack", report::FramesJson(session->stacks().Frames(key.second))}});
    }
  }
  return json;
}

void PrintJson(Session* session, const analyses::RunResult& result, const Findings& all,
               Output* out) {
  const std::vector<Finding>& findings = all.memory;
  Json verdicts = Json::array();
  std::map<analyses::Verdict, std::pair<uint64_t, uint64_t>> sums;  // bytes, count
  const size_t top = session->options().top.value_or(0);
  for (size_t i = 0; i < findings.size(); ++i) {
    sums[findings[i].verdict].first += findings[i].bytes;
    sums[findings[i].verdict].second += findings[i].count;
    if (top == 0 || i < top) verdicts.push_back(FindingJson(session, *result.shares, findings[i]));
  }
  Json by_verdict = Json::object();
  for (const auto& [verdict, sum] : sums) {
    by_verdict[std::string(analyses::VerdictName(verdict))] = {{"bytes", sum.first},
                                                               {"count", sum.second}};
  }
  Json json = report::BeginDocument("leaks", session->job(), session->Trust(result));
  json["verdicts"] = std::move(verdicts);
  json["totals"] = {{"by_verdict", std::move(by_verdict)}};
  json["objects"] = Json::array();
  for (const Finding& finding : all.objects) {
    json["objects"].push_back(FindingJson(session, *result.shares, finding));
  }
  json["unknown_frees"] = UnknownFreesJson(session, result);
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

void PrintRefusals(Session* session, const Finding& finding, Output* out) {
  for (const analyses::Refusal& refusal : finding.refusals) {
    out->Write(absl::StrCat("      freeing it failed ", report::FormatCount(refusal.count),
                            refusal.count == 1 ? " time with " : " times with ",
                            report::ResultName(refusal.result), " at\n"));
    PrintStack(*session, refusal.site, kFrames, out);
  }
}

// What has no bytes, or bytes that are no memory of the program's.
void PrintObjects(Session* session, const Finding& finding, Output* out) {
  out->Write(absl::StrCat(
      session->terminal().Paint(report::Style::kNumber,
                                report::PadLeft(report::FormatCount(finding.count), 10)),
      "  ", std::string(ledger::AccountTitle(finding.account)),
      finding.account == Account::kModule
          ? absl::StrCat(" with images of ", report::FormatBytes(finding.bytes))
          : "",
      finding.device == ledger::kHost ? ""
                                      : absl::StrCat(" on ", session->DeviceName(finding.device))));
  if (finding.fate == Fate::kAlive && !finding.missing_call.empty()) {
    out->Write(absl::StrCat("; missing: ", std::string(finding.missing_call)));
  }
  if (finding.account == Account::kGraphExec) {
    out->Write(absl::StrCat("; launched ", report::FormatCount(finding.launches), " times"));
  }
  if (finding.is_stray) out->Write("; nothing was ever allocated there");
  out->Write("\n");
  PrintStack(*session, finding.site, kFrames, out);
}

void PrintFinding(Session* session, const Finding& finding, Output* out) {
  const report::Terminal& terminal = session->terminal();
  if (IsObject(finding)) return PrintObjects(session, finding, out);
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
  if (finding.account == Account::kVmm && finding.fate == Fate::kAlive) {
    out->Write(absl::StrCat("; held by ", finding.references, " references and ", finding.mappings,
                            " mappings each"));
  }
  out->Write("\n");
  PrintStack(*session, finding.site, kFrames, out);
  PrintRefusals(session, finding, out);
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

void PrintObjectsPart(Session* session, const std::vector<Finding>& objects, Output* out) {
  if (objects.empty()) return;
  PrintHeading(*session, "Objects that were not destroyed", out);
  const size_t asked = session->options().top.value_or(kDefaultTop);
  for (size_t i = 0; i < objects.size() && (asked == 0 || i < asked); ++i) {
    PrintObjects(session, objects[i], out);
  }
  if (asked != 0 && objects.size() > asked) {
    out->Write(session->terminal().Paint(
        report::Style::kFaint,
        absl::StrCat("  … ", objects.size() - asked, " more (--top 0 shows all)\n")));
  }
}

void PrintUnknownFrees(Session* session, const analyses::RunResult& result, Output* out) {
  std::map<uint32_t, uint64_t> by_site;
  for (const auto& ledger : result.ledgers) {
    for (const auto& [key, count] : ledger->unknown_frees()) by_site[key.second] += count;
  }
  std::erase_if(by_site, [](const auto& item) { return item.second == 0; });
  if (by_site.empty()) return;
  PrintHeading(*session, "Freed, but not seen being allocated", out);
  size_t shown = 0;
  for (const auto& [site, count] : by_site) {
    if (shown++ == kDefaultTop) break;
    out->Write(
        absl::StrCat("  ", report::FormatCount(count), count == 1 ? " free at\n" : " frees at\n"));
    PrintStack(*session, site, kFrames, out);
  }
}

// Contexts only where they are stray, and only what is alive: most live as long as the program.
Findings Sort(Session* session, std::vector<Finding> found) {
  Findings findings;
  for (Finding& finding : found) {
    if (session->options().kinds.has_value() || !IsObject(finding)) {
      if (finding.bytes >= session->options().min_size) {
        findings.memory.push_back(std::move(finding));
      }
    } else if (finding.fate == Fate::kAlive &&
               (finding.account != Account::kContext || finding.is_stray)) {
      findings.objects.push_back(std::move(finding));
    }
  }
  return findings;
}

absl::Status Leaks(Session* session, Output* out, bool* trustworthy) {
  analyses::Leaks leaks(session->filter(kKinds | kObjects));
  absl::StatusOr<analyses::RunResult> result = session->Run({&leaks});
  if (!result.ok()) return result.status();
  const Findings findings = Sort(
      session, leaks.Findings(result->ledger_pointers(), &session->owners(), [&](uint32_t site) {
        return session->stacks().SourceIdentity(site);
      }));
  *trustworthy = session->Trust(*result).ledger_complete;
  if (session->options().json) {
    PrintJson(session, *result, findings, out);
    return absl::OkStatus();
  }
  PrintProcesses(session, result->end_ns, out);
  PrintPart(session, findings.memory, true, out);
  PrintPart(session, findings.memory, false, out);
  PrintObjectsPart(session, findings.objects, out);
  PrintUnknownFrees(session, *result, out);
  const analyses::Trust trust = session->Trust(*result);
  if (!trust.reasons.empty()) out->Write("\n");
  PrintTrust(*session, trust, out);
  return absl::OkStatus();
}

}  // namespace

int RunLeaks(CommonOptions* options) { return RunOnTraces(options, Leaks); }

}  // namespace gputrace::cli

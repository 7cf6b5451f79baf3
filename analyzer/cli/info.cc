// SPDX-License-Identifier: Apache-2.0
// gputrace info: what was traced, and how complete it is.
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/analyses/event_counts.h"
#include "analyzer/cli/command.h"
#include "analyzer/cli/session.h"
#include "analyzer/cli/text.h"
#include "analyzer/report/json.h"
#include "analyzer/report/table.h"
#include "analyzer/report/units.h"
#include "nlohmann/json.hpp"

namespace gputrace::cli {
namespace {

using report::Json;
using trace::CoverageWhat;
using Ways = analyses::TrustCollector::Ways;

const char* EndedName(trace::Ended ended) {
  switch (ended) {
    case trace::Ended::kExit:
      return "exit";
    case trace::Ended::kKilled:
      return "killed";
    case trace::Ended::kExec:
      return "exec";
    case trace::Ended::kRunning:
      return "running";
  }
  return "killed";
}

// 12020 -> "12.2"
Json ApiVersion(const trace::Dictionary& dictionary) {
  int version = 0;
  if (!absl::SimpleAtoi(std::string(dictionary.fact("driver.version")), &version)) return nullptr;
  return absl::StrCat(version / 1000, ".", version % 1000 / 10);
}

Json ProcessJson(const trace::Dictionary& dictionary, const trace::FileHeader& header) {
  Json json;
  json["pid"] = header.pid;
  json["ppid"] = report::NumberOrText(dictionary.fact("ppid"));
  json["exe"] = report::TextOrNull(dictionary.fact("exe"));
  json["args"] = report::ParseStrings(dictionary.fact("args"));
  json["host"] = report::TextOrNull(dictionary.fact("host"));
  json["rank"] = report::NumberOrText(dictionary.fact("rank"));
  json["start_wall"] = header.start_realtime_ns;
  return json;
}

Json PrefixedFacts(const trace::Dictionary& dictionary, const std::string& prefix) {
  Json json = Json::object();
  for (const auto& [key, value] : dictionary.facts()) {
    if (absl::StartsWith(key, prefix)) json[key.substr(prefix.size())] = value;
  }
  return json;
}

constexpr std::pair<CoverageWhat, const char*> kWays[] = {
    {CoverageWhat::kLinked, "linked"},
    {CoverageWhat::kDlsym, "dlsym"},
    {CoverageWhat::kProcAddress, "cuGetProcAddress"}};

// What the driver has, and by which ways the program got at it.
Json CoverageJson(const trace::Dictionary& dictionary, const Ways& ways) {
  Json json;
  json["driver_exports"] = report::NumberOrText(dictionary.fact("driver.exports"));
  json["driver_exports_unknown"] = report::NumberOrText(dictionary.fact("driver.exports_unknown"));
  const auto names = [&](CoverageWhat what) {
    const auto found = ways.find(what);
    return found == ways.end() ? Json::array() : Json(found->second);
  };
  json["unknown_memory_exports"] = names(CoverageWhat::kUnknownExport);
  json["handed_out_unwrapped"] = names(CoverageWhat::kUnwrappedPointer);
  json["handed_out_unknown"] = names(CoverageWhat::kUnknownEntry);
  json["reached"] = Json::object();
  for (const auto& [what, name] : kWays) json["reached"][name] = names(what);
  return json;
}

// One sentence of what CoverageJson tells.
std::string CoverageText(const trace::Dictionary& dictionary, const Ways& ways) {
  if (dictionary.fact("driver.exports").empty()) return "";
  std::vector<std::string> reached;
  for (const auto& [what, name] : kWays) {
    const auto found = ways.find(what);
    if (found != ways.end()) reached.push_back(absl::StrCat(found->second.size(), " by ", name));
  }
  return absl::StrCat("the driver exports ", std::string(dictionary.fact("driver.exports")),
                      " functions, ", std::string(dictionary.fact("driver.exports_unknown")),
                      " of them not in the table; traced ones in use: ",
                      reached.empty() ? "none" : absl::StrJoin(reached, ", "));
}

struct ProcessCounts {
  analyses::EventCounts events;
  int64_t duration_ns = 0;  // of the process
};

Json PartJson(const ingest::Job& job, const ingest::Process& process, const ProcessCounts& counts,
              const Ways& ways) {
  const trace::Dictionary& dictionary = process.reader->dictionary();
  Json json;
  json["process"] = ProcessJson(dictionary, process.reader->header());
  json["driver"] = {{"version", report::NumberOrText(dictionary.fact("driver.version"))},
                    {"api", ApiVersion(dictionary)},
                    {"path", report::TextOrNull(dictionary.fact("driver.path"))}};
  json["devices"] = Json::array();
  for (int32_t device : process.devices) {
    json["devices"].push_back(report::DeviceJson(job.devices()[static_cast<size_t>(device)]));
  }
  json["frameworks"] = Json::array();
  json["events"] = {{"total", counts.events.total()},
                    {"by_type", counts.events.ByType(dictionary)}};
  json["duration_ns"] = counts.duration_ns;
  json["bytes_on_disk"] = process.reader->file_bytes();
  json["ended"] = EndedName(process.reader->health().ended);
  json["tracer_version"] = report::TextOrNull(dictionary.fact("tracer.version"));
  json["coverage"] = CoverageJson(dictionary, ways);
  json["options"] = PrefixedFacts(dictionary, "option.");
  json["environment"] = PrefixedFacts(dictionary, "env.");
  return json;
}

void PrintPart(Session* session, const ingest::Process& process, const ProcessCounts& counts,
               const Ways& ways, Output* out) {
  const trace::Dictionary& dictionary = process.reader->dictionary();
  const auto line = [&](const char* name, const std::string& text) {
    if (text.empty()) return;
    out->Write(absl::StrCat(report::PadRight(name, 12), report::EscapeForTerminal(text), "\n"));
  };
  line("trace",
       absl::StrCat(process.path, " (", report::FormatBytes(process.reader->file_bytes()), ")"));
  line("program", std::string(dictionary.fact("exe")));
  line("arguments", absl::StrJoin(report::ParseStrings(dictionary.fact("args")), " "));
  line("process", absl::StrCat("pid ", process.reader->header().pid, ", parent ",
                               std::string(dictionary.fact("ppid")), ", on ",
                               std::string(dictionary.fact("host"))));
  line("ended", absl::StrCat(EndedName(process.reader->health().ended), " after ",
                             report::FormatDuration(counts.duration_ns)));
  const Json api = ApiVersion(dictionary);
  if (api.is_string()) {
    line("driver", absl::StrCat("CUDA ", api.get<std::string>(), ", ",
                                std::string(dictionary.fact("driver.path"))));
  }
  for (int32_t index : process.devices) {
    const ingest::Device& device = session->job().devices()[static_cast<size_t>(index)];
    line("device", absl::StrCat(device.index, ": ", device.name, ", ",
                                report::FormatBytes(device.total_bytes), ", ", device.uuid));
  }
  line("coverage", CoverageText(dictionary, ways));
  line("tracer", std::string(dictionary.fact("tracer.version")));
  for (const auto& [key, value] : dictionary.facts()) {
    if (absl::StartsWith(key, "option.")) line("option", absl::StrCat(key.substr(7), "=", value));
  }
  out->Write(absl::StrCat(report::PadRight("events", 12),
                          report::FormatCount(counts.events.total()), "\n"));
  report::Table table({{"count"}, {"event", report::Align::kLeft, true}});
  for (const auto& [name, count] : counts.events.ByType(dictionary)) {
    table.AddRow({report::FormatCount(count), report::EscapeForTerminal(name)});
  }
  if (!table.empty()) out->Write(table.Render(session->terminal()));
}

void PrintAllTrust(const Session& session, const analyses::Trust& trust, Output* out) {
  const auto yes_no = [&](bool yes) {
    return session.terminal().Paint(yes ? report::Style::kGood : report::Style::kBad,
                                    yes ? "yes" : "no");
  };
  PrintHeading(session, "Can it be trusted?", out);
  out->Write(absl::StrCat(
      "  every change of memory is known:  ", yes_no(trust.ledger_complete), "\n",
      "  every stack and owner is known:   ", yes_no(trust.attribution_complete), "\n"));
  for (const std::string& reason : trust.reasons) {
    out->Write(absl::StrCat("  - ", report::EscapeForTerminal(reason), "\n"));
  }
  for (const std::string& name : trust.uncovered_entries) {
    out->Write(
        absl::StrCat("  - not known to this version: ", report::EscapeForTerminal(name), "\n"));
  }
}

absl::Status Info(Session* session, Output* out, bool* trustworthy) {
  ingest::Job& job = session->job();
  std::vector<ProcessCounts> counts(job.processes().size());
  // Whether the account adds up is part of the question.
  const absl::StatusOr<analyses::RunResult> result = session->Run(
      [&](const ingest::TimedRecord& timed) { counts[timed.process].events.Count(timed.record); });
  if (!result.ok()) return result.status();
  for (size_t i = 0; i < counts.size(); ++i) {
    const ingest::Process& process = job.processes()[i];
    const auto& end = process.reader->dictionary().end();
    counts[i].duration_ns =
        counts[i].events.total() > 0 ? counts[i].events.last_ns() - process.offset_ns : 0;
    if (end.has_value()) counts[i].duration_ns = std::max(counts[i].duration_ns, end->time_ns);
  }
  const analyses::TrustCollector& collector = session->trust_collector();
  const analyses::Trust trust = session->Trust(*result);
  *trustworthy = trust.ledger_complete;
  if (session->options().json) {
    Json json = report::BeginDocument("info", job, trust);
    json.update(PartJson(job, job.processes()[0], counts[0], collector.ways(0)));
    json["processes"] = Json::array();
    for (size_t i = 0; i < counts.size(); ++i) {
      json["processes"].push_back(PartJson(job, job.processes()[i], counts[i], collector.ways(i)));
    }
    out->Write(report::Render(json));
    return absl::OkStatus();
  }
  for (size_t i = 0; i < counts.size(); ++i) {
    if (i > 0) out->Write("\n");
    PrintPart(session, job.processes()[i], counts[i], collector.ways(i), out);
  }
  PrintAllTrust(*session, trust, out);
  return absl::OkStatus();
}

}  // namespace

int RunInfo(CommonOptions* options) { return RunOnTraces(options, Info); }

}  // namespace gputrace::cli

// SPDX-License-Identifier: Apache-2.0
// gputrace timeline: memory over time.
#include "analyzer/analyses/timeline.h"
#include "absl/strings/str_cat.h"
#include "analyzer/cli/command.h"
#include "analyzer/cli/session.h"
#include "analyzer/cli/text.h"
#include "analyzer/report/chart.h"
#include "analyzer/report/json.h"
#include "analyzer/report/units.h"
#include "nlohmann/json.hpp"

namespace gputrace::cli {
namespace {

using analyses::Timeline;
using report::Json;

Json SeriesJson(const Timeline::Series& series) {
  Json points = Json::array();
  for (const analyses::TimelinePoint& point : series.steps.Points()) {
    points.push_back({{"time", point.time_ns}, {"bytes", point.bytes}});
  }
  return {{"current", series.current},
          {"peak", series.peak},
          {"peak_time", series.peak_time_ns},
          {"points", std::move(points)}};
}

void PrintJson(Session* session, const analyses::RunResult& result, const Timeline& timeline,
               const analyses::Filter& filter, Output* out) {
  Json json = report::BeginDocument("timeline", session->job(), session->Trust(result));
  json["duration_ns"] = result.end_ns;
  json["kind"] = ledger::KindNames(filter.accounts);
  json["device"] =
      filter.device.has_value() ? report::DeviceIndexJson(*filter.device) : Json(nullptr);
  json["total"] = SeriesJson(timeline.total());
  json["series"] = Json::array();
  for (const auto& [key, series] : timeline.series()) {
    Json one;
    one["device"] = report::DeviceIndexJson(key.first);
    one["ledger"] = std::string(ledger::AccountName(key.second));
    one.update(SeriesJson(series));
    json["series"].push_back(std::move(one));
  }
  out->Write(report::Render(json));
}

void PrintCsv(const Timeline& timeline, Output* out) {
  out->Write("device,ledger,time_ns,bytes\n");
  for (const auto& [key, series] : timeline.series()) {
    const std::string name(ledger::AccountName(key.second));
    const std::string device = key.first == ledger::kHost ? "" : absl::StrCat(key.first);
    for (const analyses::TimelinePoint& point : series.steps.Points()) {
      out->Write(absl::StrCat(device, ",", name, ",", point.time_ns, ",", point.bytes, "\n"));
    }
  }
}

void PrintText(Session* session, const analyses::RunResult& result, const Timeline& timeline,
               const analyses::Filter& filter, Output* out) {
  PrintProcesses(session, result.end_ns, out);
  PrintTrust(*session, session->Trust(result), out);
  const Timeline::Series& total = timeline.total();
  if (total.peak == 0) {
    out->Write(
        absl::StrCat("No ", ledger::DescribeKinds(filter.accounts), " memory was allocated.\n"));
    return;
  }
  PrintHeading(*session,
               absl::StrCat(ledger::DescribeKinds(filter.accounts), " memory: at most ",
                            report::FormatBytes(total.peak), " at ",
                            report::FormatDuration(total.peak_time_ns), ", ",
                            report::FormatBytes(total.current), " at the end"),
               out);
  out->Write(report::RenderChart(total.steps.Points(), result.end_ns, session->terminal()));
}

absl::Status Run(const TimelineOptions& options, Session* session, Output* out, bool* trustworthy) {
  const analyses::Filter filter = session->filter(ledger::kDeviceAccounts);
  // Each bucket gives up to three points.
  Timeline timeline(filter, options.points / 3);
  absl::StatusOr<analyses::RunResult> result = session->Run({&timeline});
  if (!result.ok()) return result.status();
  const analyses::Trust trust = session->Trust(*result);
  *trustworthy = trust.ledger_complete;
  if (options.json) {
    PrintJson(session, *result, timeline, filter, out);
  } else if (options.csv) {
    PrintCsv(timeline, out);
    WarnOfDistrust(*session, trust);
  } else {
    PrintText(session, *result, timeline, filter, out);
  }
  return absl::OkStatus();
}

}  // namespace

int RunTimeline(TimelineOptions* options) {
  return RunOnTraces(options, [=](Session* session, Output* out, bool* trustworthy) {
    return Run(*options, session, out, trustworthy);
  });
}

}  // namespace gputrace::cli

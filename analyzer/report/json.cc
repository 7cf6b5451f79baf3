// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/json.h"

#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace gputrace::report {
namespace {

using ledger::Account;

Json NumberOrNull(const std::optional<uint64_t>& number) {
  return number.has_value() ? Json(*number) : Json(nullptr);
}

Json TraceJson(const ingest::Process& process) {
  const trace::Dictionary& dictionary = process.reader->dictionary();
  Json json;
  json["path"] = process.path;
  json["pid"] = process.reader->header().pid;
  json["host"] = TextOrNull(dictionary.fact("host"));
  json["rank"] = NumberOrText(dictionary.fact("rank"));
  json["complete"] = process.reader->health().complete && process.damage.empty();
  json["wall_start_ns"] = process.reader->header().start_realtime_ns;
  return json;
}

Json TrustJson(const analyses::Trust& trust) {
  Json json;
  json["ledger_complete"] = trust.ledger_complete;
  json["attribution_complete"] = trust.attribution_complete;
  json["reasons"] = trust.reasons;
  json["lost_events"] = trust.lost_events;
  json["truncated_stacks"] = trust.truncated_stacks;
  json["unknown_frees"] = trust.unknown_frees;
  json["unresolved_modules"] = trust.unresolved_modules;
  json["uncovered_entries"] = trust.uncovered_entries;
  json["bypasses"] = trust.bypasses;
  json["tracer"] = {{"cpu_ns", NumberOrNull(trust.tracer.cpu_ns)},
                    {"p50_ns", NumberOrNull(trust.tracer.p50_ns)},
                    {"p99_ns", NumberOrNull(trust.tracer.p99_ns)},
                    {"rss", NumberOrNull(trust.tracer.rss)}};
  return json;
}

}  // namespace

std::vector<std::string> ParseStrings(std::string_view json) {
  const Json parsed = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  std::vector<std::string> strings;
  if (!parsed.is_array()) return strings;
  for (const Json& item : parsed) {
    if (item.is_string()) strings.push_back(item.get<std::string>());
  }
  return strings;
}

Json TextOrNull(std::string_view text) { return text.empty() ? Json(nullptr) : Json(text); }

Json NumberOrText(std::string_view text) {
  int64_t number = 0;
  if (absl::SimpleAtoi(std::string(text), &number)) return number;
  return TextOrNull(text);
}

Json BeginDocument(std::string_view command, const ingest::Job& job, const analyses::Trust& trust) {
  Json json;
  json["schema"] = absl::StrCat("gputrace.", std::string(command), "/1");
  json["traces"] = Json::array();
  for (const ingest::Process& process : job.processes())
    json["traces"].push_back(TraceJson(process));
  json["trust"] = TrustJson(trust);
  return json;
}

Json DeviceIndexJson(int32_t device) {
  return device == ledger::kHost ? Json(nullptr) : Json(device);
}

Json DeviceJson(const ingest::Device& device) {
  Json json;
  json["index"] = device.index;
  json["name"] = TextOrNull(device.name);
  json["uuid"] = TextOrNull(device.uuid);
  json["host"] = TextOrNull(device.host);
  json["ordinal"] = device.ordinal;
  json["physical"] = device.physical.has_value() ? Json(*device.physical) : Json(nullptr);
  json["total"] = device.total_bytes;
  return json;
}

Json FramesJson(const std::vector<const symbols::Frame*>& frames) {
  Json json = Json::array();
  for (const symbols::Frame* frame : frames) {
    Json one;
    one["function"] = frame->function;
    one["file"] = TextOrNull(frame->file);
    one["line"] = frame->line > 0 ? Json(frame->line) : Json(nullptr);
    one["module"] = TextOrNull(frame->module);
    one["inlined"] = frame->inlined;
    one["python"] = frame->python;
    json.push_back(std::move(one));
  }
  return json;
}

Json StatisticsJson(const analyses::AccountStatistics& statistics) {
  Json json;
  json["current"] = statistics.current;
  json["peak"] = statistics.peak;
  json["peak_time"] = statistics.peak_time_ns;
  json["allocs"] = statistics.allocs;
  json["frees"] = statistics.frees;
  json["failed"] = statistics.failed;
  return json;
}

Json LedgersJson(const analyses::DeviceStatistics& statistics) {
  Json json;
  for (size_t i = 0; i < ledger::kMemoryAccounts; ++i) {
    json[std::string(ledger::AccountName(static_cast<Account>(i)))] =
        StatisticsJson(statistics.accounts[i]);
  }
  return json;
}

Json ObjectsJson(const analyses::DeviceStatistics& statistics) {
  Json json = Json::object();
  for (size_t i = ledger::kMemoryAccounts; i < ledger::kAccounts; ++i) {
    const analyses::AccountStatistics& account = statistics.accounts[i];
    Json one;
    one["current"] = account.count;
    one["peak"] = account.peak_count;
    one["created"] = account.allocs;
    one["destroyed"] = account.frees;
    json[std::string(ledger::AccountName(static_cast<Account>(i)))] = std::move(one);
  }
  return json;
}

std::string Render(const Json& json, int indent) {
  return absl::StrCat(json.dump(indent, ' ', false, Json::error_handler_t::replace), "\n");
}

}  // namespace gputrace::report

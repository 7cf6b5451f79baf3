// SPDX-License-Identifier: Apache-2.0
// gputrace summary: who holds memory, and what of it can be known.
#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "analyzer/analyses/leaks.h"
#include "analyzer/analyses/owners.h"
#include "analyzer/analyses/peak.h"
#include "analyzer/analyses/statistics.h"
#include "analyzer/cli/command.h"
#include "analyzer/cli/pending.h"
#include "analyzer/cli/session.h"
#include "analyzer/cli/shares.h"
#include "analyzer/cli/text.h"
#include "analyzer/report/json.h"
#include "analyzer/report/table.h"
#include "analyzer/report/units.h"
#include "nlohmann/json.hpp"

namespace gputrace::cli {
namespace {

using ledger::Account;
using report::FormatBytes;
using report::FormatCount;
using report::Json;

constexpr size_t kDefaultTop = 5;
constexpr size_t kFrames = 4;

struct Held {
  uint64_t bytes = 0;
  uint64_t count = 0;
  size_t stacks = 0;

  Json ToJson() const { return {{"bytes", bytes}, {"count", count}, {"stacks", stacks}}; }
};

// Everything that a summary says, computed in one pass.
class Summary {
 public:
  explicit Summary(Session* session)
      : session_(*session),
        owners_(&session->owners()),
        peak_(session->filter(ledger::kDeviceAccounts)),
        leaks_(session->filter(kKept)) {}

  absl::Status Compute();
  void Print(Output* out);
  Json ToJson();
  bool trustworthy() const { return session_.Trust(result_).ledger_complete; }

 private:
  static constexpr ledger::AccountSet kKept =
      ledger::kDeviceAccounts | ledger::kHostAccounts | ledger::Bit(Account::kManaged) |
      ledger::Bit(Account::kReservedVa) | ledger::Bit(Account::kAlias);

  std::vector<uint32_t> OwnersBySize() const;
  void PrintLedgers(Output* out);
  void PrintDevices(Output* out);
  void PrintOwners(Output* out);
  void PrintPeak(Output* out);
  void PrintKept(Output* out);
  void PrintUntraced(Output* out);
  Json DevicesJson() const;
  Json OwnersJson() const;
  Json UntracedJson() const;
  uint64_t failed_frees() const;

  Session& session_;
  analyses::Statistics statistics_;
  analyses::Owners owners_;
  analyses::Peak peak_;
  analyses::Leaks leaks_;
  analyses::RunResult result_;
  Held alive_;
  Held context_ended_;
};

absl::Status Summary::Compute() {
  absl::StatusOr<analyses::RunResult> result =
      session_.Run({&statistics_, &owners_, &peak_, &leaks_});
  if (!result.ok()) return result.status();
  result_ = *std::move(result);
  for (const analyses::Finding& finding :
       leaks_.Findings(result_.ledger_pointers(), &session_.owners(),
                       [&](uint32_t site) { return session_.stacks().SourceIdentity(site); })) {
    Held& held = finding.fate == analyses::Fate::kAlive ? alive_ : context_ended_;
    if (finding.fate == analyses::Fate::kFreedAtShutdown) continue;
    held.bytes += finding.bytes;
    held.count += finding.count;
    ++held.stacks;
  }
  return absl::OkStatus();
}

uint64_t Summary::failed_frees() const {
  uint64_t failed = 0;
  for (const auto& ledger : result_.ledgers) failed += ledger->counters().failed_frees;
  return failed;
}

// Those that held the most on devices come first.
std::vector<uint32_t> Summary::OwnersBySize() const {
  std::vector<uint32_t> order(owners_.owners().size());
  std::iota(order.begin(), order.end(), 0u);
  const auto key = [&](uint32_t owner) {
    const analyses::OwnerStatistics& of = owners_.owners()[owner];
    return std::tuple(of.device.peak, of.managed.peak, of.host.peak);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return key(a) > key(b); });
  std::erase_if(order, [&](uint32_t owner) { return key(owner) == std::tuple(0u, 0u, 0u); });
  return order;
}

void Summary::PrintLedgers(Output* out) {
  report::Table table({{"memory", report::Align::kLeft, true},
                       {"at the end"},
                       {"peak"},
                       {"at"},
                       {"allocations"},
                       {"frees"},
                       {"failed"}});
  for (size_t i = 0; i < ledger::kMemoryAccounts; ++i) {
    const analyses::AccountStatistics& of = statistics_.all().accounts[i];
    if (of.allocs == 0 && of.failed == 0) continue;
    const auto account = static_cast<Account>(i);
    // That memory was pending for a while is how streams work; that it still is says something.
    if (account == Account::kPoolPending && of.current == 0) continue;
    const bool sampled = account == Account::kPoolReserved || account == Account::kGraph;
    std::string title(ledger::AccountTitle(account));
    if (sampled) title += " (sampled)";
    table.AddRow({title, FormatBytes(of.current), FormatBytes(of.peak),
                  of.peak == 0 ? "-" : report::FormatDuration(of.peak_time_ns),
                  sampled ? "-" : FormatCount(of.allocs), sampled ? "-" : FormatCount(of.frees),
                  FormatCount(of.failed)});
  }
  out->Write("\n");
  if (table.empty()) {
    out->Write("No memory was allocated.\n");
  } else {
    out->Write(table.Render(session_.terminal()));
  }
}

void Summary::PrintDevices(Output* out) {
  report::Table table(
      {{"device", report::Align::kLeft, true}, {"at the end"}, {"peak"}, {"at"}, {"size"}});
  for (const ingest::Device& device : session_.job().devices()) {
    const analyses::DeviceStatistics* of = statistics_.device(device.index);
    if (of == nullptr || of->total.peak == 0) continue;
    table.AddRow({absl::StrCat(device.index, ": ", report::EscapeForTerminal(device.name)),
                  FormatBytes(of->total.current), FormatBytes(of->total.peak),
                  report::FormatDuration(of->total.peak_time_ns), FormatBytes(device.total_bytes)});
  }
  if (table.empty()) return;
  out->Write("\n");
  out->Write(table.Render(session_.terminal()));
}

void Summary::PrintOwners(Output* out) {
  const std::vector<uint32_t> order = OwnersBySize();
  if (order.empty()) return;
  bool managed = false;
  bool host = false;
  for (const analyses::OwnerStatistics& of : owners_.owners()) {
    managed |= of.managed.peak > 0;
    host |= of.host.peak > 0;
  }
  std::vector<report::Column> columns = {
      {"library", report::Align::kLeft, true}, {"at the end"}, {"peak"}};
  if (managed) columns.push_back({"managed, peak"});
  if (host) columns.push_back({"host, peak"});
  report::Table table(columns);
  const size_t top = session_.options().top.value_or(kDefaultTop);
  for (size_t i = 0; i < order.size() && (top == 0 || i < top); ++i) {
    const analyses::OwnerStatistics& of = owners_.owners()[order[i]];
    std::vector<std::string> row = {report::EscapeForTerminal(session_.owners().name(order[i])),
                                    FormatBytes(of.device.current), FormatBytes(of.device.peak)};
    if (managed) row.push_back(FormatBytes(of.managed.peak));
    if (host) row.push_back(FormatBytes(of.host.peak));
    table.AddRow(std::move(row));
  }
  out->Write("\n");
  out->Write(table.Render(session_.terminal()));
  if (top != 0 && order.size() > top) {
    out->Write(session_.terminal().Paint(
        report::Style::kFaint,
        absl::StrCat("… ", order.size() - top, " more (--top 0 shows all)\n")));
  }
}

void Summary::PrintPeak(Output* out) {
  if (peak_.bytes() == 0) return;
  PrintHeading(session_,
               absl::StrCat("At the peak: ", FormatBytes(peak_.bytes()), " of ",
                            ledger::DescribeKinds(peak_.filter().accounts), " memory at ",
                            report::FormatDuration(peak_.time_ns())),
               out);
  const std::vector<Share> shares = GroupShares(&session_, peak_.AtPeak(), session_.options().by);
  const size_t top = session_.options().top.value_or(kDefaultTop);
  PrintShares(session_, shares, top == 0 ? shares.size() : top, peak_.bytes(), kFrames, out);
}

void Summary::PrintKept(Output* out) {
  const auto describe = [](const Held& held) {
    return absl::StrCat(FormatCount(held.count), held.count == 1 ? " allocation" : " allocations",
                        " with ", FormatBytes(held.bytes), " of ", held.stacks,
                        held.stacks == 1 ? " stack" : " stacks");
  };
  PrintHeading(session_, "Not freed by the program", out);
  out->Write(absl::StrCat(
      "  alive at the end:              ", alive_.count == 0 ? "nothing" : describe(alive_), "\n"));
  if (context_ended_.count > 0) {
    out->Write(absl::StrCat("  ended only with their context: ", describe(context_ended_), "\n"));
  }
  if (!session_.options().quiet && alive_.count + context_ended_.count > 0) {
    out->Write(
        session_.terminal().Paint(report::Style::kFaint, "  gputrace leaks lists them by stack\n"));
  }
}

void Summary::PrintUntraced(Output* out) {
  const std::vector<analyses::UntracedSample> samples = statistics_.untraced();
  PrintHeading(session_, "What cannot be traced", out);
  if (samples.empty()) {
    out->Write("  unknown: the program never asked the driver how much memory is in use\n");
    return;
  }
  for (const analyses::UntracedSample& sample : samples) {
    const int64_t untraced = sample.untraced();
    out->Write(absl::StrCat(
        "  ", session_.DeviceName(sample.device), " at ", report::FormatDuration(sample.time_ns),
        ": ", FormatBytes(sample.driver_used), " in use, ", FormatBytes(sample.traced), " traced, ",
        report::FormatBytesDelta(untraced), " untraced\n"));
    std::string causes;
    int64_t rest = untraced;
    for (size_t i = 0; i < analyses::kUntracedCauses; ++i) {
      if (sample.by_cause[i] == 0) continue;
      rest -= sample.by_cause[i];
      absl::StrAppend(&causes, report::FormatBytesDelta(sample.by_cause[i]), " by ",
                      analyses::UntracedCauseName(static_cast<analyses::UntracedCause>(i)), ", ");
    }
    out->Write(absl::StrCat("    ", causes, report::FormatBytesDelta(rest),
                            " before the first sample, by rounding or by other processes\n"));
  }
}

void Summary::Print(Output* out) {
  PrintProcesses(&session_, result_.end_ns, out);
  PrintTrust(session_, session_.Trust(result_), out);
  PrintLedgers(out);
  PrintDevices(out);
  PrintOwners(out);
  PrintPeak(out);
  PrintKept(out);
  PrintPending(session_, result_, out);
  PrintUntraced(out);
}

Json Summary::DevicesJson() const {
  Json json = Json::array();
  for (const ingest::Device& device : session_.job().devices()) {
    Json one = report::DeviceJson(device);
    static const analyses::DeviceStatistics kNothing;
    const analyses::DeviceStatistics* of = statistics_.device(device.index);
    if (of == nullptr) of = &kNothing;
    one["device_memory"] = {{"current", of->total.current},
                            {"peak", of->total.peak},
                            {"peak_time", of->total.peak_time_ns}};
    one["ledgers"] = report::LedgersJson(*of);
    json.push_back(std::move(one));
  }
  return json;
}

Json Summary::OwnersJson() const {
  const auto pair = [](const analyses::AccountStatistics& of) {
    return Json{{"current", of.current}, {"peak", of.peak}};
  };
  Json json = Json::array();
  for (uint32_t owner : OwnersBySize()) {
    const analyses::OwnerStatistics& of = owners_.owners()[owner];
    Json one;
    one["name"] = session_.owners().name(owner);
    one["class"] = std::string(analyses::OwnerClassName(session_.owners().owner_class(owner)));
    one["current"] = of.device.current;
    one["peak"] = of.device.peak;
    one["managed"] = pair(of.managed);
    one["host"] = pair(of.host);
    json.push_back(std::move(one));
  }
  return json;
}

Json Summary::UntracedJson() const {
  Json json = Json::array();
  for (const analyses::UntracedSample& sample : statistics_.untraced()) {
    Json one;
    one["device"] = sample.device;
    one["time"] = sample.time_ns;
    one["driver_used"] = sample.driver_used;
    one["traced"] = sample.traced;
    one["untraced"] = sample.untraced();
    int64_t rest = sample.untraced();
    Json causes;
    for (size_t i = 0; i < analyses::kUntracedCauses; ++i) {
      causes[analyses::UntracedCauseName(static_cast<analyses::UntracedCause>(i))] =
          sample.by_cause[i];
      rest -= sample.by_cause[i];
    }
    causes["other"] = rest;
    one["causes"] = std::move(causes);
    json.push_back(std::move(one));
  }
  return json;
}

Json Summary::ToJson() {
  const std::vector<Share> shares = GroupShares(&session_, peak_.AtPeak(), session_.options().by);
  const size_t top = session_.options().top.value_or(0);
  Json entries = SharesJson(session_, shares, top == 0 ? shares.size() : top);
  Json json = report::BeginDocument("summary", session_.job(), session_.Trust(result_));
  json["duration_ns"] = result_.end_ns;
  json["ledgers"] = report::LedgersJson(statistics_.all());
  json["objects"] = report::ObjectsJson(statistics_.all());
  json["devices"] = DevicesJson();
  json["owners"] = OwnersJson();
  json["peak"] = {{"kind", ledger::KindNames(peak_.filter().accounts)},
                  {"time", peak_.time_ns()},
                  {"bytes", peak_.bytes()},
                  {"entries", std::move(entries)}};
  json["leaks"] = {{"alive", alive_.ToJson()}, {"context_ended", context_ended_.ToJson()}};
  json["failed_frees"] = failed_frees();
  json["pending"] = PendingJson(result_);
  json["untraced"] = UntracedJson();
  return json;
}

}  // namespace

int RunSummary(CommonOptions* options) {
  return RunOnTraces(options, [](Session* session, Output* out, bool* trustworthy) {
    Summary summary(session);
    if (absl::Status status = summary.Compute(); !status.ok()) return status;
    if (session->options().json) {
      out->Write(report::Render(summary.ToJson()));
    } else {
      summary.Print(out);
    }
    *trustworthy = summary.trustworthy();
    return absl::OkStatus();
  });
}

}  // namespace gputrace::cli

// SPDX-License-Identifier: Apache-2.0
// gputrace peak and gputrace live: who held memory at a moment.
#include <cmath>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "analyzer/analyses/peak.h"
#include "analyzer/cli/command.h"
#include "analyzer/cli/session.h"
#include "analyzer/cli/shares.h"
#include "analyzer/cli/text.h"
#include "analyzer/report/json.h"
#include "analyzer/report/units.h"
#include "nlohmann/json.hpp"

namespace gputrace::cli {
namespace {

using report::Json;

constexpr size_t kDefaultTop = 10;
constexpr size_t kFrames = 8;

struct Moment {
  std::string command;  // the schema's name
  bool is_peak = true;
  std::optional<int64_t> until_ns;  // absent: to the end
};

std::string DescribeFilter(const Session& session, const analyses::Filter& filter) {
  std::string text = absl::StrCat(ledger::DescribeKinds(filter.accounts), " memory");
  if (filter.device.has_value()) {
    absl::StrAppend(&text, " of ", session.DeviceName(*filter.device));
  } else if (session.job().devices().size() > 1) {
    absl::StrAppend(&text, " of all devices");
  }
  return text;
}

absl::Status Report(Session* session, const Moment& moment, Output* out, bool* trustworthy) {
  analyses::Peak peak(session->filter(ledger::kDeviceAccounts));
  absl::StatusOr<analyses::RunResult> result = session->Run({&peak}, moment.until_ns);
  if (!result.ok()) return result.status();
  const uint64_t bytes = moment.is_peak ? peak.bytes() : peak.current_bytes();
  const int64_t time_ns =
      moment.is_peak ? peak.time_ns() : moment.until_ns.value_or(result->end_ns);
  const std::vector<Share> shares =
      GroupShares(session, moment.is_peak ? peak.AtPeak() : peak.Now(), session->options().by);
  uint64_t covered = 0;
  for (const Share& share : shares) covered += share.bytes;
  const size_t top = session->options().top.value_or(session->options().json ? 0 : kDefaultTop);
  const size_t shown = top == 0 ? shares.size() : top;
  if (session->options().json) {
    Json entries = SharesJson(*session, shares, shown);
    const analyses::Trust trust = session->Trust(*result);
    *trustworthy = trust.ledger_complete;
    Json json = report::BeginDocument(moment.command, session->job(), trust);
    json["device"] = peak.filter().device.has_value()
                         ? report::DeviceIndexJson(*peak.filter().device)
                         : Json(session->job().devices().size() == 1 ? Json(0) : Json(nullptr));
    json["kind"] = ledger::KindNames(peak.filter().accounts);
    json["time"] = time_ns;
    json["bytes"] = bytes;
    json["entries"] = std::move(entries);
    json["covered_bytes"] = covered;
    out->Write(report::Render(json));
    return absl::OkStatus();
  }
  PrintProcesses(session, result->end_ns, out);
  const std::string held =
      absl::StrCat(report::FormatBytes(bytes), " of ", DescribeFilter(*session, peak.filter()),
                   " at ", report::FormatDuration(time_ns));
  PrintHeading(*session,
               moment.is_peak ? absl::StrCat("Peak: ", held) : absl::StrCat("Held: ", held), out);
  PrintShares(*session, shares, shown, bytes, kFrames, out);
  const analyses::Trust trust = session->Trust(*result);
  *trustworthy = trust.ledger_complete;
  if (!trust.reasons.empty()) out->Write("\n");
  PrintTrust(*session, trust, out);
  return absl::OkStatus();
}

// `end`, `peak`, or seconds since the start.
absl::Status ParseMoment(const std::string& text, Moment* moment) {
  moment->is_peak = text == "peak";
  if (moment->is_peak || text == "end") return absl::OkStatus();
  double seconds = 0;
  if (!absl::SimpleAtod(text, &seconds) || !std::isfinite(seconds) || seconds < 0 ||
      seconds > 9e9) {
    return absl::InvalidArgumentError(
        absl::StrCat("--at: '", text, "' is neither seconds nor end nor peak"));
  }
  moment->until_ns = std::llround(seconds * 1e9);
  return absl::OkStatus();
}

}  // namespace

int RunPeak(CommonOptions* options) {
  return RunOnTraces(options, [](Session* session, Output* out, bool* trustworthy) {
    return Report(session, {"peak", true, std::nullopt}, out, trustworthy);
  });
}

int RunLive(LiveOptions* options) {
  Moment moment;
  moment.command = "live";
  if (absl::Status status = ParseMoment(options->at, &moment); !status.ok()) {
    return Fail(std::string(status.message()));
  }
  return RunOnTraces(options, [&](Session* session, Output* out, bool* trustworthy) {
    return Report(session, moment, out, trustworthy);
  });
}

}  // namespace gputrace::cli

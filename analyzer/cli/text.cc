// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/text.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzer/report/json.h"
#include "analyzer/report/units.h"

namespace gputrace::cli {
namespace {

using report::Style;

constexpr size_t kMaxReasons = 5;

// The words of a command line, out of the JSON array that a trace has.
std::string CommandLine(const trace::Dictionary& dictionary) {
  std::vector<std::string> parts = report::ParseStrings(dictionary.fact("args"));
  if (parts.empty()) parts.emplace_back(dictionary.fact("exe"));
  return absl::StrJoin(parts, " ");
}

const char* EndedText(trace::Ended ended) {
  switch (ended) {
    case trace::Ended::kExit:
      return "exited";
    case trace::Ended::kKilled:
      return "ended without exit handlers (killed, crashed or _exit)";
    case trace::Ended::kExec:
      return "became another program";
    case trace::Ended::kRunning:
      return "still runs";
  }
  return "";
}

std::string Frames(size_t count) { return absl::StrCat(count, count == 1 ? " frame" : " frames"); }

}  // namespace

void PrintProcesses(Session* session, int64_t end_ns, Output* out) {
  for (const ingest::Process& process : session->job().processes()) {
    const trace::Dictionary& dictionary = process.reader->dictionary();
    std::string details = absl::StrCat(" (pid ", process.reader->header().pid);
    if (!dictionary.fact("host").empty()) {
      absl::StrAppend(&details, " on ", report::EscapeForTerminal(dictionary.fact("host")));
    }
    const std::string duration = session->job().processes().size() == 1
                                     ? absl::StrCat(report::FormatDuration(end_ns), ", ")
                                     : "";
    absl::StrAppend(&details, "): ", duration, EndedText(process.reader->health().ended));
    const auto width = static_cast<size_t>(session->terminal().width());
    const size_t taken = report::DisplayWidth(details);
    const std::string command = report::FitWidth(
        report::EscapeForTerminal(CommandLine(dictionary)),
        std::max<size_t>(width > taken ? width - taken : 0, 20), report::Cut::kMiddle);
    out->Write(absl::StrCat(session->terminal().Paint(Style::kName, command), details, "\n"));
  }
}

void PrintTrust(const Session& session, const analyses::Trust& trust, Output* out) {
  if (trust.ledger_complete && trust.reasons.empty() && trust.uncovered_entries.empty()) return;
  const report::Terminal& terminal = session.terminal();
  out->Write(trust.ledger_complete
                 ? terminal.Paint(Style::kWarning, "Note:")
                 : terminal.Paint(Style::kBad, "The numbers are not the whole truth:"));
  out->Write("\n");
  for (size_t i = 0; i < trust.reasons.size() && i < kMaxReasons; ++i) {
    out->Write(absl::StrCat("  ", report::EscapeForTerminal(trust.reasons[i]), "\n"));
  }
  if (trust.reasons.size() > kMaxReasons) {
    out->Write(absl::StrCat("  … ", trust.reasons.size() - kMaxReasons,
                            " more (gputrace info lists them)\n"));
  }
  if (!trust.uncovered_entries.empty()) {
    out->Write(absl::StrCat("  driver functions that this version does not know: ",
                            report::EscapeForTerminal(absl::StrJoin(trust.uncovered_entries, ", ")),
                            "\n"));
  }
}

void WarnOfDistrust(const Session& session, const analyses::Trust& trust) {
  if (trust.ledger_complete || session.options().quiet) return;
  const std::string reason = trust.reasons.empty() ? "calls are missing" : trust.reasons.front();
  const std::string more =
      trust.reasons.size() > 1 ? absl::StrCat(" (and ", trust.reasons.size() - 1, " more)") : "";
  const std::string line =
      absl::StrCat("gputrace: this is not the whole truth: ", report::EscapeForTerminal(reason),
                   more, "; see gputrace info\n");
  fputs(line.c_str(), stderr);
}

void PrintHeading(const Session& session, const std::string& title, Output* out) {
  out->Write(absl::StrCat("\n", session.terminal().Paint(Style::kHeading, title), "\n"));
}

void PrintStack(const Session& session, uint32_t site, size_t frames, Output* out) {
  const std::vector<const symbols::Frame*> all = session.stacks().Frames(site);
  if (all.empty()) {
    out->Write("      (no stack)\n");
    return;
  }
  const bool whole = session.options().native;
  size_t shown = 0;
  size_t left = 0;
  for (const symbols::Frame* frame : all) {
    if (!whole && analyses::IsPassedThrough(analyses::FileName(frame->module))) continue;
    if (!whole && shown == frames) {
      ++left;
      continue;
    }
    ++shown;
    const auto width = static_cast<size_t>(session.terminal().width());
    out->Write(absl::StrCat(
        "      ", report::FitWidth(report::FrameText(*frame), width - 6, report::Cut::kMiddle),
        "\n"));
  }
  if (shown == 0) {
    out->Write(absl::StrCat("      ", report::FrameText(*all.front()), "\n"));
  }
  if (left > 0) {
    out->Write(absl::StrCat(
        session.terminal().Paint(Style::kFaint, absl::StrCat("      … ", Frames(left), " more")),
        "\n"));
  }
}

void PrintShares(const Session& session, const std::vector<Share>& shares, size_t top,
                 uint64_t whole, size_t frames, Output* out) {
  uint64_t left_bytes = 0;
  for (size_t i = 0; i < shares.size(); ++i) {
    const Share& share = shares[i];
    if (i >= top) {
      left_bytes += share.bytes;
      continue;
    }
    const std::string bytes = report::PadLeft(report::FormatBytes(share.bytes), 10);
    out->Write(absl::StrCat(
        session.terminal().Paint(Style::kNumber, bytes), "  ",
        report::PadLeft(report::FormatShare(share.bytes, whole), 7), "  ",
        share.library.empty()
            ? ""
            : absl::StrCat(
                  session.terminal().Paint(Style::kName, report::EscapeForTerminal(share.library)),
                  ", "),
        report::FormatCount(share.count), share.count == 1 ? " allocation\n" : " allocations\n"));
    if (share.library.empty()) PrintStack(session, share.site, frames, out);
  }
  if (shares.size() > top) {
    out->Write(session.terminal().Paint(
        Style::kFaint, absl::StrCat("  … ", shares.size() - top, " more with ",
                                    report::FormatBytes(left_bytes), " (--top 0 shows all)\n")));
  }
}

}  // namespace gputrace::cli

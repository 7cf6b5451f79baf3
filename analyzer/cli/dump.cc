// SPDX-License-Identifier: Apache-2.0
// gputrace dump: the events, one line each.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analyzer/analyses/record_names.h"
#include "analyzer/cli/command.h"
#include "analyzer/cli/session.h"
#include "analyzer/cli/text.h"
#include "analyzer/report/json.h"
#include "analyzer/report/units.h"
#include "nlohmann/json.hpp"

namespace gputrace::cli {
namespace {

using report::Json;
using trace::RecordKind;
using trace::Role;

// Addresses and handles are read in hexadecimal, amounts in decimal.
bool IsHexadecimal(Role role) {
  switch (role) {
    case Role::kSize:
    case Role::kOffset:
    case Role::kDevice:
    case Role::kLocation:
    case Role::kLocationType:
    case Role::kCount:
    case Role::kAttribute:
    case Role::kFd:
    case Role::kPitch:
    case Role::kCapture:
    case Role::kValue:
    case Role::kLimit:
    case Role::kResult:
      return false;
    default:
      return true;
  }
}

// The records of a completion are the out operands only.
size_t FirstOperand(const trace::Record& record, const trace::EntryDescriptor& entry) {
  if (record.kind != RecordKind::kCompletion) return 0;
  size_t in = 0;
  while (in < entry.operands.size() && !entry.operands[in].out) ++in;
  return in;
}

class Dumper {
 public:
  Dumper(Session* session, Output* out)
      : options_(session->options()), session_(*session), out_(*out) {}

  void Dump(const ingest::TimedRecord& timed) {
    if (out_.closed()) return;
    if (options_.json) {
      DumpJson(timed);
    } else {
      DumpText(timed);
    }
    ++number_;
  }

 private:
  const trace::Dictionary& DictionaryOf(uint32_t process) const {
    return session_.job().processes()[process].reader->dictionary();
  }

  static std::string NameOf(const trace::Record& record, size_t operand) {
    return analyses::OperandName(record.kind, static_cast<uint32_t>(operand));
  }
  static std::string TextOf(const trace::Record& record, size_t operand,
                            const trace::Dictionary& dictionary) {
    return analyses::OperandText(record.kind, static_cast<uint32_t>(operand),
                                 record.operands[operand], dictionary);
  }

  std::string OperandsText(const trace::Record& record, const trace::EntryDescriptor* entry,
                           const trace::Dictionary& dictionary) const {
    std::string text;
    const size_t first = entry != nullptr ? FirstOperand(record, *entry) : 0;
    for (size_t i = 0; i < record.operands.size(); ++i) {
      const bool known = entry != nullptr && first + i < entry->operands.size();
      const bool hexadecimal = known && IsHexadecimal(entry->operands[first + i].role);
      const std::string name = known ? entry->operands[first + i].name : NameOf(record, first + i);
      std::string value = known ? "" : TextOf(record, i, dictionary);
      if (value.empty()) {
        value = hexadecimal ? absl::StrFormat("0x%x", record.operands[i])
                            : absl::StrCat(record.operands[i]);
      }
      absl::StrAppend(&text, text.empty() ? "" : " ", report::EscapeForTerminal(name), "=",
                      report::EscapeForTerminal(value));
    }
    return text;
  }

  // What names the operands: of a sample, the entry is the call that it was taken after.
  static const trace::EntryDescriptor* Describing(const trace::Record& record,
                                                  const trace::EntryDescriptor* entry) {
    return record.kind == RecordKind::kSample ? nullptr : entry;
  }

  void DumpText(const ingest::TimedRecord& timed) {
    const trace::Record& record = timed.record;
    const trace::Dictionary& dictionary = DictionaryOf(timed.process);
    const trace::EntryDescriptor* entry = dictionary.entry(record.entry);
    std::string line = absl::StrFormat("%14.6f ", static_cast<double>(record.time_ns) / 1e9);
    if (session_.job().processes().size() > 1) {
      absl::StrAppend(&line, session_.job().processes()[timed.process].reader->header().pid, " ");
    }
    absl::StrAppend(&line, dictionary.thread(record.thread).tid, " ");
    const std::string kind(analyses::RecordKindName(record.kind));
    absl::StrAppend(&line, report::PadRight(kind, 10), " ");
    if (entry != nullptr) {
      absl::StrAppend(&line, record.kind == RecordKind::kSample ? "after " : "",
                      report::EscapeForTerminal(entry->symbol), " ");
    }
    absl::StrAppend(&line, OperandsText(record, Describing(record, entry), dictionary));
    if (record.kind != RecordKind::kIntent && record.result != 0) {
      absl::StrAppend(&line, " result=", record.result);
    }
    if (record.duration_ns > 0) {
      absl::StrAppend(&line, " took ",
                      report::FormatDuration(static_cast<int64_t>(record.duration_ns)));
    }
    if (record.flags & trace::kFlagUncertain) absl::StrAppend(&line, " (in flight at the end)");
    out_.Write(absl::StrCat(line, "\n"));
    if (!options_.native) return;
    for (const symbols::Frame* frame :
         session_.stacks().Frames(timed.process, record.native_stack)) {
      out_.Write(absl::StrCat("      ", report::FrameText(*frame), "\n"));
    }
  }

  void DumpJson(const ingest::TimedRecord& timed) {
    const trace::Record& record = timed.record;
    const trace::Dictionary& dictionary = DictionaryOf(timed.process);
    const trace::EntryDescriptor* entry = dictionary.entry(record.entry);
    Json json;
    json["number"] = number_;
    json["pid"] = session_.job().processes()[timed.process].reader->header().pid;
    json["time"] = record.time_ns;
    json["duration_ns"] = record.duration_ns;
    json["thread"] = dictionary.thread(record.thread).tid;
    json["kind"] = std::string(analyses::RecordKindName(record.kind));
    json["call"] = entry != nullptr ? Json(entry->symbol) : Json(nullptr);
    json["result"] = record.result;
    json["flags"] = record.flags;
    json["context"] = dictionary.context(record.context).handle;
    const int32_t device = dictionary.context(record.context).device;
    json["device"] = device < 0 ? Json(nullptr) : Json(device);
    Json operands = Json::object();
    const trace::EntryDescriptor* describing = Describing(record, entry);
    const size_t first = describing != nullptr ? FirstOperand(record, *describing) : 0;
    for (size_t i = 0; i < record.operands.size(); ++i) {
      const bool known = describing != nullptr && first + i < describing->operands.size();
      const std::string text = known ? "" : TextOf(record, i, dictionary);
      operands[known ? describing->operands[first + i].name : NameOf(record, first + i)] =
          text.empty() ? Json(record.operands[i]) : Json(text);
    }
    json["operands"] = std::move(operands);
    json["native_stack"] = record.native_stack;
    json["python_stack"] = record.python_stack;
    if (options_.native) {
      json["stack"] =
          report::FramesJson(session_.stacks().Frames(timed.process, record.native_stack));
    }
    out_.Write(report::Render(json, -1));
  }

  const CommonOptions& options_;
  Session& session_;
  Output& out_;
  uint64_t number_ = 0;
};

}  // namespace

int RunDump(CommonOptions* options) {
  return RunOnTraces(options, [](Session* session, Output* out, bool* trustworthy) {
    Dumper dumper(session, out);
    analyses::TrustCollector collector(&session->job());
    absl::Status status = session->job().ForEach([&](const ingest::TimedRecord& timed) {
      dumper.Dump(timed);
      collector.Observe(timed);
    });
    const analyses::Trust trust = collector.Judge({});
    *trustworthy = trust.ledger_complete;
    if (status.ok()) WarnOfDistrust(*session, trust);
    return status;
  });
}

}  // namespace gputrace::cli

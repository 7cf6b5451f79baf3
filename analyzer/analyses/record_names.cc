// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/record_names.h"

#include <iterator>
#include <span>

#include "absl/strings/str_cat.h"
#include "trace/live.h"

namespace gputrace::analyses {
namespace {

using trace::RecordKind;
using Names = std::span<const std::string_view>;

std::string_view At(Names names, uint64_t position) {
  return position < names.size() ? names[position] : std::string_view();
}

// In the order of the operands' enumerations in trace/format.h.
Names OperandNames(RecordKind kind) {
  static constexpr std::string_view kFrameworkBlock[] = {
      "operation", "allocator", "address", "bytes", "requested", "stream", "segment", "name"};
  static constexpr std::string_view kFrameworkReport[] = {
      "report", "allocator", "requested", "allocated", "reserved", "limit", "largest_free", "text"};
  static constexpr std::string_view kPhase[] = {"operation", "source", "name", "domain",
                                                "identity"};
  static constexpr std::string_view kSample[] = {"source", "device", "object", "value0",
                                                 "value1", "value2", "value3"};
  static constexpr std::string_view kLoss[] = {"reason", "events", "ring"};
  static constexpr std::string_view kModuleEpoch[] = {"epoch"};
  static constexpr std::string_view kCoverage[] = {"what", "name", "count"};
  static constexpr std::string_view kVariable[] = {"name", "value"};
  switch (kind) {
    case RecordKind::kFrameworkBlock:
      return kFrameworkBlock;
    case RecordKind::kFrameworkReport:
      return kFrameworkReport;
    case RecordKind::kPhase:
      return kPhase;
    case RecordKind::kSample:
      return kSample;
    case RecordKind::kLoss:
      return kLoss;
    case RecordKind::kModuleEpoch:
      return kModuleEpoch;
    case RecordKind::kCoverage:
      return kCoverage;
    case RecordKind::kVariable:
      return kVariable;
    default:
      return {};
  }
}

// Operands that are enumerations, by value.
Names ValueNames(RecordKind kind, uint32_t operand) {
  static constexpr std::string_view kCoverage[] = {
      "",      "handed_out_unknown", "handed_out_unwrapped", "linked",
      "dlsym", "cuGetProcAddress",   "unknown_export"};
  static constexpr std::string_view kLoss[] = {"", "ring_full", "size_limit", "write_error",
                                               "paused"};
  static constexpr std::string_view kPhaseOperation[] = {"", "begin", "end", "instant"};
  static constexpr std::string_view kPhaseSource[] = {"", "mark", "nvtx", "record_function",
                                                      "trace_me"};
  static constexpr std::string_view kBlock[] = {"",         "allocate",         "free",
                                                "reusable", "segment_allocate", "segment_free"};
  static constexpr std::string_view kReport[] = {"", "statistics", "out_of_memory"};
  static constexpr std::string_view kSample[] = {"",        "mem_get_info", "pool", "graph_memory",
                                                 "context", "module"};
  if (kind == RecordKind::kPhase && operand == 1) return kPhaseSource;
  if (operand != 0) return {};
  switch (kind) {
    case RecordKind::kCoverage:
      return kCoverage;
    case RecordKind::kLoss:
      return kLoss;
    case RecordKind::kPhase:
      return kPhaseOperation;
    case RecordKind::kFrameworkBlock:
      return kBlock;
    case RecordKind::kFrameworkReport:
      return kReport;
    case RecordKind::kSample:
      return kSample;
    default:
      return {};
  }
}

}  // namespace

std::string_view RecordKindName(RecordKind kind) {
  static constexpr std::string_view kNames[] = {
      "unknown", "call",   "intent", "completion",   "framework_block", "framework_report",
      "phase",   "sample", "loss",   "module_epoch", "coverage",        "variable"};
  const auto position = static_cast<size_t>(kind);
  return position < std::size(kNames) ? kNames[position] : kNames[0];
}

std::string OperandName(RecordKind kind, uint32_t operand) {
  const std::string_view name = At(OperandNames(kind), operand);
  return name.empty() ? absl::StrCat("operand", operand) : std::string(name);
}

std::string OperandText(RecordKind kind, uint32_t operand, uint64_t value,
                        const trace::Dictionary& dictionary) {
  if (operand < 32 && (trace::StringOperands(kind) >> operand & 1) != 0) {
    return std::string(dictionary.string(static_cast<uint32_t>(value)));
  }
  return std::string(At(ValueNames(kind, operand), value));
}

}  // namespace gputrace::analyses

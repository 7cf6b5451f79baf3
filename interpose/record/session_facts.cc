// SPDX-License-Identifier: Apache-2.0
#include "interpose/record/session_facts.h"

#include <cstring>

#include "interpose/hooks/entry_table.h"

#ifndef GPUTRACE_VERSION
#error "GPUTRACE_VERSION must be defined by the build"
#endif

namespace gputrace::interpose {
namespace {

class FactWriter {
 public:
  explicit FactWriter(trace::DictionaryEncoder* dictionary) : dictionary_(*dictionary) {}

  void Text(const char* key, const char* value) {
    dictionary_.AddFact(BytesOf(key), BytesOf(value));
  }
  void Number(const char* key, uint64_t value) {
    TextBuffer<31> text;
    text.AddNumber(value);
    Text(key, text.c_str());
  }
  void Prefixed(const char* prefix, const char* name, size_t name_size, const char* value) {
    TextBuffer<127> key;
    key.Add(prefix).Add(name, name_size);
    dictionary_.AddFact(key.bytes(), BytesOf(value));
  }

 private:
  trace::DictionaryEncoder& dictionary_;
};

const char* OnOff(bool on) { return on ? "on" : "off"; }

void AddOptions(const Session& session, FactWriter* facts) {
  const Options& options = session.options;
  facts->Text("option.GPUTRACE_STACKS", options.stacks == StackMode::kOff ? "off" : "native");
  facts->Text("option.GPUTRACE_FREE_STACKS", OnOff(options.free_stacks));
  facts->Number("option.GPUTRACE_DEPTH", options.depth);
  facts->Number("option.GPUTRACE_RING", options.ring_bytes);
  facts->Number("option.GPUTRACE_MAX_SIZE", options.max_bytes);
  facts->Text("option.GPUTRACE_CHILDREN", OnOff(options.children));
  facts->Text("option.GPUTRACE_OUT", options.output != nullptr ? options.output : kDefaultOutput);
  for (uint32_t i = 0; i < options.error_count; ++i) {
    const OptionError& error = options.errors[i];
    const size_t name_size = static_cast<size_t>(error.value - error.name) - 1;
    TextBuffer<511> text;
    text.Add('"').Add(error.value, strnlen(error.value, 200)).Add("\" ").Add(error.why);
    text.Add("; the default is used");
    facts->Prefixed("option_error.", error.name, name_size, text.c_str());
  }
}

uint64_t CpuTimeOfProcess() { return ReadNs(CLOCK_PROCESS_CPUTIME_ID); }

}  // namespace

void AddSessionFacts(const Session& session, const ProcessInfo& process,
                     trace::DictionaryEncoder* dictionary) {
  FactWriter facts(dictionary);
  facts.Text("tracer.version", GPUTRACE_VERSION);
  facts.Number("pid", process.pid);
  facts.Number("ppid", process.parent);
  facts.Text("exe", process.executable.c_str());
  facts.Text("args", process.arguments.c_str());
  facts.Text("host", process.host.c_str());
  facts.Text("cwd", process.directory.c_str());
  facts.Text("rank", process.rank.c_str());
  facts.Number("start_wall_ns", session.start_realtime_ns);
  for (const char* const* name = kRecordedVariables; *name != nullptr; ++name) {
    const char* value = Variable(*name);
    if (value != nullptr) facts.Prefixed("env.", *name, strlen(*name), value);
  }
  AddOptions(session, &facts);
}

void AddEntries(trace::DictionaryEncoder* dictionary) {
  trace::EntryView::Effect effects[16];
  trace::EntryView::Operand operands[trace::kMaxOperands];
  for (uint16_t id = 1; id <= kEntryCount; ++id) {
    const StaticEntry& entry = kEntries[id];
    for (uint32_t i = 0; i < entry.effect_count; ++i) {
      effects[i] = {entry.effects[i].verb, entry.effects[i].kinds};
    }
    for (uint32_t i = 0; i < entry.operand_count; ++i) {
      const StaticOperand& operand = entry.operands[i];
      operands[i] = {BytesOf(operand.name), operand.role, operand.out, operand.predictor};
    }
    dictionary->AddEntry({id, BytesOf(entry.symbol), entry.entry_class, entry.intent,
                          entry.context_source, entry.capture, effects, entry.effect_count,
                          operands, entry.operand_count});
  }
}

void AddCosts(const Session& session, trace::DictionaryEncoder* dictionary) {
  FactWriter facts(dictionary);
  facts.Number("tracer.cpu_ns", session.writer_cpu_ns.load(std::memory_order_relaxed));
  facts.Number("process.cpu_ns", CpuTimeOfProcess());
  facts.Number("tracer.rings", session.live->rings.load(std::memory_order_relaxed));
}

void AddExports(const DriverExports& exports, trace::DictionaryEncoder* dictionary) {
  FactWriter facts(dictionary);
  facts.Number("driver.exports", exports.all);
  facts.Number("driver.exports_unknown", exports.unknown);
}

}  // namespace gputrace::interpose

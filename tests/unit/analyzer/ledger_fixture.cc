// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/analyzer/ledger_fixture.h"

namespace gputrace {

using trace::KindBit;
using trace::ObjectKind;
using trace::Role;
using trace::Verb;

LedgerFixture::LedgerFixture() {
  const auto open = [](ObjectKind kind) { return trace::Effect{Verb::kOpen, KindBit(kind)}; };
  const auto close = [](uint64_t kinds) { return trace::Effect{Verb::kClose, kinds}; };
  const OperandSpec size{Role::kSize};
  const OperandSpec address{Role::kAddress};
  const OperandSpec new_address{Role::kAddress, true};
  observers_.push_back(&statistics_);
  AddEntry("alloc", {open(ObjectKind::kDevice)}, {size, new_address});
  AddEntry(
      "alloc_pitch", {open(ObjectKind::kDevice)},
      {{Role::kValue}, {Role::kValue}, {Role::kSize, true}, new_address, {Role::kPitch, true}});
  AddEntry("free",
           {close(KindBit(ObjectKind::kDevice) | KindBit(ObjectKind::kManaged) |
                  KindBit(ObjectKind::kPoolBlock) | KindBit(ObjectKind::kExternalBuffer) |
                  KindBit(ObjectKind::kIpcImport))},
           {address}, true);
  AddEntry("alloc_managed", {open(ObjectKind::kManaged)}, {size, {Role::kFlags}, new_address});
  AddEntry("alloc_host", {open(ObjectKind::kPinned)}, {size, new_address});
  AddEntry("free_host", {close(KindBit(ObjectKind::kPinned))}, {address}, true);
  AddEntry("register_host", {open(ObjectKind::kRegistered)}, {size, new_address});
  AddEntry("unregister_host", {close(KindBit(ObjectKind::kRegistered))}, {address}, true);
  AddEntry("alloc_async", {open(ObjectKind::kPoolBlock)},
           {size, {Role::kStream}, {Role::kCapture}, new_address});
  AddEntry("alloc_from_pool", {open(ObjectKind::kPoolBlock)},
           {size, {Role::kPool}, {Role::kStream}, {Role::kCapture}, new_address});
  AddEntry("free_async",
           {close(KindBit(ObjectKind::kPoolBlock) | KindBit(ObjectKind::kDevice) |
                  KindBit(ObjectKind::kManaged))},
           {address, {Role::kStream}, {Role::kCapture}}, true);
}

void LedgerFixture::AddEntry(const std::string& symbol, std::vector<trace::Effect> effects,
                             std::vector<OperandSpec> operands, bool intent) {
  trace::EntryDescriptor entry;
  entry.id = static_cast<uint16_t>(entries_.size() + 1);
  entry.symbol = symbol;
  entry.intent = intent;
  entry.effects = std::move(effects);
  for (const OperandSpec& operand : operands) {
    trace::OperandDescriptor descriptor;
    descriptor.role = operand.role;
    descriptor.out = operand.out;
    entry.operands.push_back(descriptor);
  }
  ids_[symbol] = entry.id;
  entries_.push_back(entry);
}

ledger::Ledger& LedgerFixture::ledger() {
  if (ledger_ == nullptr) {
    ledger::ProcessDescription process;
    process.entries = entries_;
    process.contexts = {{kContext0, 0}, {kContext1, 1}};
    process.devices = {0, 1};
    process.native_stacks = 100;
    process.python_stacks = 100;
    process.threads = 8;
    process.shares = shares_;
    ledger_ = std::make_unique<ledger::Ledger>(process, &sites_, observers_);
  }
  return *ledger_;
}

void LedgerFixture::Apply(trace::RecordKind kind, const std::string& symbol, int32_t result,
                          const std::vector<uint64_t>& operands) {
  trace::Record record;
  record.kind = kind;
  record.flags = flags_;
  record.entry = ids_.at(symbol);
  record.result = result;
  record.thread = thread_;
  record.context = context_;
  record.time_ns = time_ns_ += 10;
  record.native_stack = native_stack_;
  record.operands = operands;
  ledger().Apply(record);
}

void LedgerFixture::Call(const std::string& symbol, std::vector<uint64_t> operands,
                         int32_t result) {
  Apply(trace::RecordKind::kCall, symbol, result, operands);
}
void LedgerFixture::Intent(const std::string& symbol, std::vector<uint64_t> operands) {
  Apply(trace::RecordKind::kIntent, symbol, 0, operands);
}
void LedgerFixture::Complete(const std::string& symbol, int32_t result,
                             std::vector<uint64_t> operands) {
  Apply(trace::RecordKind::kCompletion, symbol, result, operands);
}

const analyses::AccountStatistics& LedgerFixture::account(ledger::Account account, int32_t device) {
  static const analyses::AccountStatistics kNothing;
  const analyses::DeviceStatistics* statistics = statistics_.device(device);
  return statistics == nullptr ? kNothing : statistics->accounts[static_cast<size_t>(account)];
}

}  // namespace gputrace

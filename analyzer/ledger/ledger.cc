// SPDX-License-Identifier: Apache-2.0
#include "analyzer/ledger/ledger.h"

#include <algorithm>
#include <utility>

namespace gputrace::ledger {

using trace::Record;
using trace::RecordKind;
using trace::Role;

namespace {

constexpr int32_t kDeinitialized = 4;  // cuda.h: CUDA_ERROR_DEINITIALIZED

}  // namespace

Ledger::Ledger(ProcessDescription process, SiteTable* sites, std::vector<Observer*> observers)
    : process_(std::move(process)),
      sites_(sites),
      observers_(std::move(observers)),
      contexts_(process_.contexts),
      stream_order_(&observers_) {
  for (const trace::EntryDescriptor& entry : process_.entries) {
    if (entry.id >= plans_.size()) plans_.resize(entry.id + size_t{1});
    plans_[entry.id] = EntryPlan(entry);
  }
  pending_.resize(process_.threads + size_t{1});
}

void Ledger::Apply(const Record& record) {
  switch (record.kind) {
    case RecordKind::kCall:
      ApplyCall(record, PlanOf(record.entry));
      return;
    case RecordKind::kIntent:
      ApplyIntent(record, PlanOf(record.entry));
      return;
    case RecordKind::kCompletion:
      ApplyCompletion(record, PlanOf(record.entry));
      return;
    case RecordKind::kSample:
      ApplySampleRecord(record);
      return;
    default:
      return;
  }
}

const EntryPlan& Ledger::PlanOf(uint16_t entry) const {
  static const EntryPlan* const kUnknown = new EntryPlan();
  return entry < plans_.size() ? plans_[entry] : *kUnknown;
}

Ledger::Pending& Ledger::PendingOf(uint32_t thread) {
  return pending_[thread < pending_.size() ? thread : 0];
}

void Ledger::ApplyCall(const Record& record, const EntryPlan& plan) {
  if (!plan.known) ++counters_.unknown_entries;
  if (plan.steps.empty()) return;
  if (record.result != 0) {
    NoteFailure(record, plan);
    return;
  }
  const Operands operands(plan, record.operands);
  for (const Step& step : plan.steps) RunStep(step, operands, record, nullptr);
}

// The intent's effects are applied at once: nothing follows if the call succeeds.
void Ledger::ApplyIntent(const Record& record, const EntryPlan& plan) {
  if (!plan.known) ++counters_.unknown_entries;
  Pending& log = PendingOf(record.thread);
  log.entry = record.entry;
  log.active = true;
  log.undo.clear();
  log.native_stack = record.native_stack;
  log.python_stack = record.python_stack;
  log.operands.assign(record.operands.begin(), record.operands.end());
  const Operands operands(plan, record.operands);
  for (const Step& step : plan.steps) {
    if (step.action != Action::kOpen) RunStep(step, operands, record, &log);
  }
}

void Ledger::ApplyCompletion(const Record& record, const EntryPlan& plan) {
  Pending& log = PendingOf(record.thread);
  if (!log.active || log.entry != record.entry) {
    ++counters_.malformed;
    return;
  }
  log.active = false;
  if (record.result != 0) {
    // The driver has shut down: what was to be freed went with it.
    if (record.result == kDeinitialized) {
      NoteTeardown(&log);
      return;
    }
    if (!log.undo.empty()) ++counters_.failed_frees;
    TakeBack(&log, record);
    return;
  }
  log.operands.insert(log.operands.end(), record.operands.begin(), record.operands.end());
  const Operands operands(plan, log.operands);
  for (const Step& step : plan.steps) {
    if (step.action == Action::kOpen) RunStep(step, operands, record, nullptr);
  }
}

void Ledger::RunStep(const Step& step, const Operands& operands, const Record& record,
                     Pending* log) {
  switch (step.action) {
    case Action::kOpen:
      return Open(step, operands, record);
    case Action::kImport:
      return Import(operands, record);
    case Action::kExport:
      Export(operands);
      return Share(operands);
    case Action::kClose:
      return Close(step, operands, record, log);
    case Action::kRelease:
      return Release(step, operands, record, log);
    case Action::kRetainHandle:
      return RetainHandle(operands);
    case Action::kMap:
      return Map(operands, record);
    case Action::kUnmap:
      return Unmap(operands, record, log);
    case Action::kBind:
      return Bind(operands);
    case Action::kUnbind:
      return Unbind(operands, record, log);
    case Action::kOpenContext:
      return OpenContext(operands, record);
    case Action::kCloseContext:
      return CloseContext(operands, record, log);
    case Action::kRetainContext:
      return RetainContext(operands, record);
    case Action::kReleaseContext:
      return ReleaseContext(operands, record, log);
    case Action::kRetainPrimary:
      return RetainPrimary(operands, record);
    case Action::kReleasePrimary:
      return ReleasePrimary(operands, record, log);
    case Action::kResetPrimary:
      return ResetPrimary(operands, record, log);
    case Action::kGreenContext:
      return LinkGreenContext(operands);
    case Action::kLearnPool:
      return LearnPool(step, operands);
    case Action::kSamplePool:
      return SamplePool(operands, record);
    case Action::kSampleDevice:
      return SampleDevice(operands, record);
    case Action::kSampleGraph:
      return SampleGraph(operands, record);
    case Action::kGraphAddress: {
      uint64_t address = 0;
      if (operands.Any(Role::kAddress, &address) && address != 0) {
        graph_addresses_[address] = operands.InOr(Role::kGraph, 0);
      }
      return;
    }
    case Action::kLaunch:
      if (InCapture(operands)) return;
      [[fallthrough]];
    case Action::kSyncStream:
    case Action::kSyncContext:
    case Action::kSyncEvent:
    case Action::kRecordEvent:
    case Action::kWaitEvent:
    case Action::kBeginCapture:
    case Action::kEndCapture:
      return RunStreamStep(step, operands, record);
  }
}

void Ledger::NoteFailure(const Record& record, const EntryPlan& plan) {
  const Operands operands(plan, record.operands);
  for (const Step& step : plan.steps) {
    if (step.action != Action::kOpen && step.action != Action::kImport) continue;
    const Account account = AccountOf(step.kind);
    if (static_cast<size_t>(account) >= kMemoryAccounts) continue;
    Failure failure;
    failure.process = process_.process;
    failure.time_ns = record.time_ns;
    failure.result = record.result;
    failure.account = step.action == Action::kImport ? Account::kAlias : account;
    uint64_t pool = 0;
    failure.device = Locate(step.kind, operands, record, &pool);
    failure.bytes = operands.InOr(Role::kSize, 0);
    failure.site = SiteOf(record);
    failure.entry = record.entry;
    ForObservers([&](Observer* observer) { observer->OnFailure(failure); });
    return;
  }
}

// Newest first, so that each step finds what it found when it was made.
void Ledger::TakeBack(Pending* log, const Record& record) {
  const int64_t time_ns = record.time_ns;
  FailedFree failed;
  failed.time_ns = time_ns;
  failed.result = record.result;
  failed.entry = record.entry;
  trace::Record call = record;  // the intent has the stack
  call.native_stack = log->native_stack;
  call.python_stack = log->python_stack;
  failed.site = SiteOf(call);
  absl::flat_hash_map<uint64_t, uint32_t> restored;  // id -> new slot
  uint64_t reported = 0;                             // a call that fails fails once for an object
  const auto report = [&](const Allocation& allocation) {
    if (allocation.id == reported) return;
    reported = allocation.id;
    ForObservers([&](Observer* observer) { observer->OnFailedFree(allocation, failed); });
  };
  for (auto undo = log->undo.rbegin(); undo != log->undo.rend(); ++undo) {
    switch (undo->kind) {
      case Undo::Kind::kFreed: {
        const Allocation& allocation = objects_.Insert(undo->allocation);
        if (allocation.references == 0) objects_.Hide(allocation);
        restored[allocation.id] = allocation.slot;
        ForObservers(
            [&](Observer* observer) { observer->OnTakeBack(allocation, undo->event, time_ns); });
        report(allocation);
        break;
      }
      case Undo::Kind::kReleased: {
        const auto moved = restored.find(undo->allocation.id);
        Allocation* allocation =
            objects_.At(moved != restored.end() ? moved->second : undo->allocation.slot);
        if (!allocation->live || allocation->id != undo->allocation.id) break;
        ++allocation->references;
        objects_.Show(*allocation);
        report(*allocation);
        break;
      }
      case Undo::Kind::kUnmapped: {
        Mapping mapping = undo->mapping;
        if (const auto moved = restored.find(mapping.id); moved != restored.end()) {
          mapping.slot = moved->second;
        }
        Allocation* memory = BehindMapping(mapping);
        if (memory != nullptr) {
          ++memory->mappings;
          report(*memory);
        }
        if (const auto moved = restored.find(undo->allocation.id); moved != restored.end()) {
          mapping.alias_slot = moved->second;
        }
        mappings_[undo->address] = mapping;
        break;
      }
      case Undo::Kind::kPromoted:
        mappings_[undo->address].alias_slot = restored[undo->allocation.id];
        break;
      case Undo::Kind::kUnbound: {
        Binding binding = undo->binding;
        if (const auto moved = restored.find(binding.id); moved != restored.end()) {
          binding.slot = moved->second;
        }
        ++objects_.At(binding.slot)->bindings;
        bindings_[undo->binding_key] = binding;
        break;
      }
      case Undo::Kind::kCurrentPool:
        current_pools_[undo->allocation.device] = undo->allocation.pool;
        break;
      case Undo::Kind::kUnknownFree:
        --counters_.unknown_frees;
        --unknown_frees_[undo->unknown];
        break;
      case Undo::Kind::kPending:
        stream_order_.TakeBack(undo->free, time_ns);
        break;
      case Undo::Kind::kContext:
        contexts_[undo->context] = undo->state;
        break;
    }
  }
  log->undo.clear();
}

void Ledger::NoteTeardown(Pending* log) {
  for (const Undo& undo : log->undo) {
    if (undo.kind != Undo::Kind::kFreed) continue;
    ForObservers([&](Observer* observer) { observer->OnTeardown(undo.allocation, undo.event); });
  }
  log->undo.clear();
}

int32_t Ledger::DeviceOfOrdinal(uint64_t ordinal) const {
  return ordinal < process_.devices.size() ? process_.devices[ordinal] : kHost;
}

int32_t Ledger::DeviceOfRecord(const Record& record) {
  const uint32_t context = contexts_.OfDictionary(record.context);
  return context == 0 ? kHost : contexts_[context].device;
}

uint32_t Ledger::SiteOf(const Record& record) {
  return sites_->Find(process_.process,
                      record.native_stack <= process_.native_stacks ? record.native_stack : 0,
                      record.python_stack <= process_.python_stacks ? record.python_stack : 0);
}

}  // namespace gputrace::ledger

// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/statistics.h"

#include <algorithm>
#include <optional>

namespace gputrace::analyses {

using ledger::Account;
using ledger::Allocation;
using trace::KindBit;
using trace::ObjectKind;

namespace {

std::optional<UntracedCause> CauseOf(uint64_t kinds) {
  const auto any = [&](std::initializer_list<ObjectKind> of) {
    return std::any_of(of.begin(), of.end(),
                       [&](ObjectKind kind) { return (kinds & KindBit(kind)) != 0; });
  };
  if (any({ObjectKind::kContext, ObjectKind::kPrimaryContext, ObjectKind::kGreenContext})) {
    return UntracedCause::kContexts;
  }
  if (any({ObjectKind::kModule, ObjectKind::kLibrary})) return UntracedCause::kModules;
  if (any({ObjectKind::kGraphExec})) return UntracedCause::kGraphs;
  if (any({ObjectKind::kLimit})) return UntracedCause::kLimits;
  return std::nullopt;
}

}  // namespace

void AccountStatistics::Add(uint64_t bytes, int64_t time_ns) {
  current += bytes;
  if (current - survived > peak) {
    peak = current - survived;
    peak_time_ns = time_ns;
  }
}

void AccountStatistics::Remove(uint64_t bytes) { current -= std::min(current, bytes); }

DeviceStatistics& Statistics::Of(int32_t device) {
  const auto position = static_cast<size_t>(int64_t{device} - ledger::kHost);
  if (position >= by_device_.size()) by_device_.resize(position + 1);
  return by_device_[position];
}

void Statistics::Hold(const Allocation& allocation, int64_t time_ns) {
  const auto account = static_cast<size_t>(allocation.account);
  DeviceStatistics& device = Of(allocation.device);
  for (DeviceStatistics* statistics : {&all_, &device}) {
    AccountStatistics& of_account = statistics->accounts[account];
    of_account.Add(allocation.bytes, time_ns);
    of_account.peak_count = std::max(of_account.peak_count, ++of_account.count);
    if ((ledger::Bit(allocation.account) & ledger::kDeviceAccounts) != 0 &&
        allocation.device != ledger::kHost) {
      statistics->total.Add(allocation.bytes, time_ns);
    }
  }
}

void Statistics::Drop(const Allocation& allocation) {
  const auto account = static_cast<size_t>(allocation.account);
  DeviceStatistics& device = Of(allocation.device);
  for (DeviceStatistics* statistics : {&all_, &device}) {
    AccountStatistics& of_account = statistics->accounts[account];
    of_account.Remove(allocation.bytes);
    --of_account.count;
    if ((ledger::Bit(allocation.account) & ledger::kDeviceAccounts) != 0 &&
        allocation.device != ledger::kHost) {
      statistics->total.Remove(allocation.bytes);
    }
  }
}

void Statistics::OnAllocate(const Allocation& allocation) {
  Hold(allocation, allocation.time_ns);
  const auto account = static_cast<size_t>(allocation.account);
  ++all_.accounts[account].allocs;
  ++Of(allocation.device).accounts[account].allocs;
}

void Statistics::OnFree(const Allocation& allocation, const ledger::FreeEvent& event) {
  Drop(allocation);
  const auto account = static_cast<size_t>(allocation.account);
  if (event.cause == ledger::FreeCause::kNeverWas) {
    --all_.accounts[account].allocs;
    --Of(allocation.device).accounts[account].allocs;
    return;
  }
  ++all_.accounts[account].frees;
  ++Of(allocation.device).accounts[account].frees;
}

void Statistics::OnTakeBack(const Allocation& allocation, const ledger::FreeEvent&,
                            int64_t time_ns) {
  Hold(allocation, time_ns);
  const auto account = static_cast<size_t>(allocation.account);
  --all_.accounts[account].frees;
  --Of(allocation.device).accounts[account].frees;
}

void Statistics::OnResize(const Allocation& allocation, uint64_t old_bytes, int64_t time_ns) {
  const auto account = static_cast<size_t>(allocation.account);
  for (DeviceStatistics* statistics : {&all_, &Of(allocation.device)}) {
    statistics->accounts[account].Remove(old_bytes);
    statistics->accounts[account].Add(allocation.bytes, time_ns);
  }
}

void Statistics::OnProcessEnd(const Allocation& allocation, int64_t) {
  for (DeviceStatistics* statistics : {&all_, &Of(allocation.device)}) {
    statistics->accounts[static_cast<size_t>(allocation.account)].survived += allocation.bytes;
    if ((ledger::Bit(allocation.account) & ledger::kDeviceAccounts) != 0 &&
        allocation.device != ledger::kHost) {
      statistics->total.survived += allocation.bytes;
    }
  }
}

void Statistics::OnFailure(const ledger::Failure& failure) {
  const auto account = static_cast<size_t>(failure.account);
  ++all_.accounts[account].failed;
  ++Of(failure.device).accounts[account].failed;
}

void Statistics::SetSampled(Account account, int32_t device, uint64_t* last, uint64_t bytes,
                            int64_t time_ns) {
  for (DeviceStatistics* statistics : {&all_, &Of(device)}) {
    AccountStatistics& of_account = statistics->accounts[static_cast<size_t>(account)];
    of_account.Remove(*last);
    of_account.Add(bytes, time_ns);
    ++of_account.allocs;
  }
  *last = bytes;
}

// A pool's memory counts once: as reserved where the driver told it, else as used.
uint64_t Statistics::Traced(int32_t device) {
  const auto& accounts = Of(device).accounts;
  const auto current = [&](Account account) {
    const AccountStatistics& of = accounts[static_cast<size_t>(account)];
    return of.current - of.survived;
  };
  return current(Account::kDevice) + current(Account::kArray) + current(Account::kVmm) +
         std::max(current(Account::kPoolReserved), current(Account::kPoolUsed)) +
         current(Account::kGraph);
}

const char* UntracedCauseName(UntracedCause cause) {
  constexpr const char* kNames[] = {"contexts", "modules", "graphs", "limits"};
  return kNames[static_cast<size_t>(cause)];
}

void Statistics::OnSample(const ledger::Sample& sample) {
  switch (sample.kind) {
    case ledger::SampleKind::kPool:
      if (sample.first == ledger::kUnknownValue) return;
      SetSampled(Account::kPoolReserved, sample.device,
                 &pool_reserved_[{sample.process, sample.object}], sample.first, sample.time_ns);
      return;
    case ledger::SampleKind::kGraphMemory:
      if (sample.first == ledger::kUnknownValue) return;
      SetSampled(Account::kGraph, sample.device, &graph_reserved_[{sample.process, sample.device}],
                 sample.first, sample.time_ns);
      return;
    case ledger::SampleKind::kDeviceMemory:
      if (sample.device != ledger::kHost) CompareWithDriver(sample);
      return;
  }
}

void Statistics::CompareWithDriver(const ledger::Sample& sample) {
  const auto position = static_cast<size_t>(sample.device);
  if (position >= untraced_.size()) untraced_.resize(position + 1);
  Untraced& untraced = untraced_[position];
  UntracedSample now{sample.device, sample.time_ns, sample.second - sample.first,
                     Traced(sample.device), untraced.last.by_cause};
  UntracedSample& before = last_of_thread_[{sample.process, sample.thread}];
  const std::optional<UntracedCause> cause = CauseOf(sample.causes);
  if (cause.has_value() && before.device == sample.device) {
    now.by_cause[static_cast<size_t>(*cause)] += now.untraced() - before.untraced();
  }
  before = now;
  untraced.last = now;
  if (!untraced.any || now.driver_used > untraced.highest.driver_used) untraced.highest = now;
  untraced.any = true;
}

const DeviceStatistics* Statistics::device(int32_t device) const {
  const auto position = static_cast<size_t>(int64_t{device} - ledger::kHost);
  return position < by_device_.size() ? &by_device_[position] : nullptr;
}

std::vector<int32_t> Statistics::devices() const {
  std::vector<int32_t> devices;
  for (size_t i = 1; i < by_device_.size(); ++i) devices.push_back(static_cast<int32_t>(i) - 1);
  return devices;
}

std::vector<UntracedSample> Statistics::untraced() const {
  std::vector<UntracedSample> samples;
  for (const Untraced& untraced : untraced_) {
    if (!untraced.any) continue;
    if (untraced.highest.time_ns != untraced.last.time_ns) samples.push_back(untraced.highest);
    samples.push_back(untraced.last);
  }
  return samples;
}

}  // namespace gputrace::analyses

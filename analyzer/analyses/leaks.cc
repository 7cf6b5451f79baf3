// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/leaks.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace gputrace::analyses {

using ledger::Allocation;
using trace::ObjectKind;

std::string_view VerdictName(Verdict verdict) {
  constexpr std::string_view kNames[] = {"leak",          "suspected_growth", "one_shot_survivor",
                                         "late_freed",    "cache_filling",    "cache_bounded",
                                         "phase_scoped",  "gc_delayed",       "cache_unknown",
                                         "runtime_owned", "undecided"};
  return kNames[static_cast<size_t>(verdict)];
}

std::string_view BehaviourName(Behaviour behaviour) {
  return behaviour == Behaviour::kOnce ? "once" : "";
}

std::string_view FateName(Fate fate) {
  constexpr std::string_view kNames[] = {"alive", "freed_at_shutdown",
                                         "freed_by_context_destruction"};
  return kNames[static_cast<size_t>(fate)];
}

Verdict Decide(Behaviour behaviour, Fate fate) {
  if (fate != Fate::kAlive) return Verdict::kLateFreed;
  return behaviour == Behaviour::kOnce ? Verdict::kOneShotSurvivor : Verdict::kUndecided;
}

std::string_view ClosingCall(const Allocation& allocation) {
  switch (allocation.kind) {
    case ObjectKind::kDevice:
    case ObjectKind::kManaged:
    case ObjectKind::kExternalBuffer:
      return "cuMemFree";
    case ObjectKind::kPinned:
      return "cuMemFreeHost";
    case ObjectKind::kRegistered:
      return "cuMemHostUnregister";
    case ObjectKind::kPoolBlock:
      return "cuMemFreeAsync";
    case ObjectKind::kVmmHandle:
      return allocation.references > 0 ? "cuMemRelease" : "cuMemUnmap";
    case ObjectKind::kMapping:
      return "cuMemUnmap";
    case ObjectKind::kReservedVa:
      return "cuMemAddressFree";
    case ObjectKind::kArray:
      return "cuArrayDestroy";
    case ObjectKind::kMipmap:
      return "cuMipmappedArrayDestroy";
    case ObjectKind::kIpcImport:
      return "cuIpcCloseMemHandle";
    case ObjectKind::kExternalMemory:
      return "cuDestroyExternalMemory";
    default:
      return "";
  }
}

Leaks::Counters& Leaks::CountersOf(const Allocation& allocation) { return sites_[allocation.site]; }

Fate Leaks::FateOf(const ledger::FreeEvent& event) {
  if (event.cause == ledger::FreeCause::kContextEnd) return Fate::kFreedByContextDestruction;
  return event.after_exit ? Fate::kFreedAtShutdown : Fate::kAlive;
}

void Leaks::AddTo(Groups* groups, const Allocation& allocation, Fate fate) {
  const GroupKey key{allocation.site, allocation.account, allocation.device, fate};
  const auto [found, is_new] = groups->try_emplace(key);
  Finding& finding = found->second;
  if (is_new) {
    finding.fate = fate;
    finding.site = allocation.site;
    finding.account = allocation.account;
    finding.device = allocation.device;
    finding.first_ns = allocation.time_ns;
    finding.last_ns = allocation.time_ns;
    finding.missing_call = ClosingCall(allocation);
    finding.references = allocation.references;
    finding.mappings = allocation.mappings;
  }
  finding.bytes += allocation.bytes;
  ++finding.count;
  finding.first_ns = std::min(finding.first_ns, allocation.time_ns);
  finding.last_ns = std::max(finding.last_ns, allocation.time_ns);
}

void Leaks::OnAllocate(const Allocation& allocation) {
  if (filter_.Holds(allocation)) ++CountersOf(allocation).allocations;
}

void Leaks::OnFree(const Allocation& allocation, const ledger::FreeEvent& event) {
  if (!filter_.Holds(allocation)) return;
  const Fate fate = FateOf(event);
  if (fate == Fate::kAlive) {
    ++CountersOf(allocation).frees;
  } else {
    AddTo(&ended_, allocation, fate);
  }
}

void Leaks::OnTakeBack(const Allocation& allocation, const ledger::FreeEvent& undone, int64_t) {
  if (!filter_.Holds(allocation)) return;
  const Fate fate = FateOf(undone);
  if (fate == Fate::kAlive) {
    --CountersOf(allocation).frees;
    return;
  }
  const auto found =
      ended_.find(GroupKey{allocation.site, allocation.account, allocation.device, fate});
  if (found == ended_.end()) return;
  found->second.bytes -= allocation.bytes;
  if (--found->second.count == 0) ended_.erase(found);
}

std::vector<Finding> Leaks::Findings(const std::vector<const ledger::Ledger*>& ledgers,
                                     OwnerTable* owners) const {
  Groups groups = ended_;
  for (const ledger::Ledger* ledger : ledgers) {
    for (const Allocation& allocation : ledger->slots()) {
      if (allocation.live && filter_.Holds(allocation)) AddTo(&groups, allocation, Fate::kAlive);
    }
  }
  std::vector<Finding> findings;
  findings.reserve(groups.size());
  for (auto& [key, finding] : groups) {
    const Counters& counters = sites_.values()[finding.site];
    finding.site_allocations = counters.allocations;
    finding.site_frees = counters.frees;
    finding.behaviour = counters.allocations == 1 ? Behaviour::kOnce : Behaviour::kUnknown;
    finding.owner = owners->owner_class(owners->OwnerOf(finding.site));
    finding.verdict = Decide(finding.behaviour, finding.fate);
    findings.push_back(finding);
  }
  std::sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
    return std::tuple(a.verdict, b.bytes, b.count, a.first_ns, a.site, a.account, a.device) <
           std::tuple(b.verdict, a.bytes, a.count, b.first_ns, b.site, b.account, b.device);
  });
  return findings;
}

}  // namespace gputrace::analyses

// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/leaks.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace gputrace::analyses {

using ledger::Allocation;
using trace::ObjectKind;

namespace {

void AddRefusal(const Refusal& refusal, std::vector<Refusal>* refusals) {
  for (Refusal& known : *refusals) {
    if (known.result != refusal.result || known.site != refusal.site) continue;
    known.count += refusal.count;
    return;
  }
  refusals->push_back(refusal);
}

}  // namespace

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
      return allocation.pool != 0 ? "cuMemFreeAsync" : "cuIpcCloseMemHandle";
    case ObjectKind::kExternalMemory:
      return "cuDestroyExternalMemory";
    case ObjectKind::kPool:
      return "cuMemPoolDestroy";
    case ObjectKind::kModule:
      return "cuModuleUnload";
    case ObjectKind::kLibrary:
      return "cuLibraryUnload";
    case ObjectKind::kGraph:
      return "cuGraphDestroy";
    case ObjectKind::kGraphExec:
      return "cuGraphExecDestroy";
    case ObjectKind::kStream:
      return "cuStreamDestroy";
    case ObjectKind::kEvent:
      return "cuEventDestroy";
    case ObjectKind::kTexture:
      return "cuTexObjectDestroy";
    case ObjectKind::kMulticast:
      return "cuMemRelease";
    case ObjectKind::kGreenContext:
      return "cuGreenCtxDestroy";
    case ObjectKind::kContext:
    case ObjectKind::kPrimaryContext:
      return allocation.primary ? "cuDevicePrimaryCtxRelease" : "cuCtxDestroy";
    default:
      return "";
  }
}

Leaks::Counters& Leaks::CountersOf(const Allocation& allocation) { return sites_[allocation.site]; }

Fate Leaks::FateOf(const ledger::FreeEvent& event) {
  if (event.cause == ledger::FreeCause::kContextEnd) return Fate::kFreedByContextDestruction;
  return event.after_exit ? Fate::kFreedAtShutdown : Fate::kAlive;
}

// Memory that is held by different things lacks different calls, even if one call made it all.
Leaks::GroupKey Leaks::KeyOf(const Allocation& allocation, Fate fate) {
  return {allocation.site,         allocation.account,     allocation.device, fate,
          ClosingCall(allocation), allocation.mappings > 0};
}

Finding& Leaks::AddTo(Groups* groups, const Allocation& allocation, Fate fate) {
  const auto [found, is_new] = groups->try_emplace(KeyOf(allocation, fate));
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
    finding.origin = allocation.origin;
  }
  finding.launches += allocation.launches;
  finding.bytes += allocation.bytes;
  ++finding.count;
  finding.first_ns = std::min(finding.first_ns, allocation.time_ns);
  finding.last_ns = std::max(finding.last_ns, allocation.time_ns);
  return finding;
}

void Leaks::NoteUse(const Allocation& allocation) {
  if (static_cast<size_t>(allocation.account) >= ledger::kMemoryAccounts) return;
  processes_.insert(allocation.process);
  devices_.insert({allocation.process, allocation.device});
  contexts_.insert({allocation.process, allocation.context});
}

// Only beside contexts that are used: a process which allocates nothing at all holds its context
// for something else.
bool Leaks::IsStray(const Allocation& allocation) const {
  return allocation.account == ledger::Account::kContext &&
         processes_.contains(allocation.process) &&
         !devices_.contains({allocation.process, allocation.device}) &&
         !contexts_.contains({allocation.process, allocation.context});
}

void Leaks::OnAllocate(const Allocation& allocation) {
  NoteUse(allocation);
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
  const auto found = ended_.find(KeyOf(allocation, fate));
  if (found == ended_.end()) return;
  found->second.bytes -= allocation.bytes;
  if (--found->second.count == 0) ended_.erase(found);
}

void Leaks::OnFailedFree(const Allocation& allocation, const ledger::FailedFree& failed) {
  if (filter_.Holds(allocation)) {
    AddRefusal({failed.result, failed.site, 1}, &refusals_[{allocation.process, allocation.id}]);
  }
}

// The program tried, and the driver's end had freed it anyway.
void Leaks::OnTeardown(const Allocation& allocation, const ledger::FreeEvent& event) {
  if (!filter_.Holds(allocation) || FateOf(event) != Fate::kAlive) return;
  --CountersOf(allocation).frees;
  AddTo(&ended_, allocation, Fate::kFreedAtShutdown);
}

// The lowest of its sites stands for a group: the same in every run.
std::vector<Finding> Leaks::Join(Groups groups, StackIdentity identity) const {
  std::vector<std::pair<GroupKey, Finding>> in_order(groups.begin(), groups.end());
  std::sort(in_order.begin(), in_order.end(),
            [](const auto& a, const auto& b) { return a.first.site < b.first.site; });
  absl::flat_hash_map<uint32_t, uint32_t> first_sites;  // site -> the first of the same identity
  absl::flat_hash_map<uint64_t, uint32_t> identities;
  absl::flat_hash_map<GroupKey, size_t> positions;
  // A site's counters count once, however many groups it is in.
  absl::flat_hash_map<uint32_t, Counters> counters;
  std::vector<Finding> joined;
  for (auto& [key, finding] : in_order) {
    const auto [site, is_new_site] = first_sites.try_emplace(key.site, key.site);
    if (is_new_site) {
      site->second = identities.try_emplace(identity(key.site), key.site).first->second;
      Counters& sum = counters[site->second];
      sum.allocations += sites_.values()[key.site].allocations;
      sum.frees += sites_.values()[key.site].frees;
    }
    key.site = site->second;
    const auto [position, is_new] = positions.try_emplace(key, joined.size());
    if (is_new) {
      finding.site = key.site;
      joined.push_back(std::move(finding));
      continue;
    }
    Finding& whole = joined[position->second];
    whole.bytes += finding.bytes;
    whole.count += finding.count;
    whole.launches += finding.launches;
    whole.first_ns = std::min(whole.first_ns, finding.first_ns);
    whole.last_ns = std::max(whole.last_ns, finding.last_ns);
    for (const Refusal& refusal : finding.refusals) AddRefusal(refusal, &whole.refusals);
  }
  for (Finding& finding : joined) {
    finding.site_allocations = counters[finding.site].allocations;
    finding.site_frees = counters[finding.site].frees;
  }
  return joined;
}

std::vector<Finding> Leaks::Findings(const std::vector<const ledger::Ledger*>& ledgers,
                                     OwnerTable* owners, StackIdentity identity) const {
  Groups groups = ended_;
  for (const ledger::Ledger* ledger : ledgers) {
    for (const Allocation& allocation : ledger->slots()) {
      if (!allocation.live || !filter_.Holds(allocation)) continue;
      Finding& finding = AddTo(&groups, allocation, Fate::kAlive);
      finding.is_stray = IsStray(allocation);
      const auto refused = refusals_.find({allocation.process, allocation.id});
      if (refused == refusals_.end()) continue;
      for (const Refusal& refusal : refused->second) AddRefusal(refusal, &finding.refusals);
    }
  }
  std::vector<Finding> findings = Join(std::move(groups), identity);
  for (Finding& finding : findings) {
    finding.behaviour = finding.site_allocations == 1 ? Behaviour::kOnce : Behaviour::kUnknown;
    if (owners != nullptr) finding.owner = owners->owner_class(owners->OwnerOf(finding.site));
    finding.verdict = Decide(finding.behaviour, finding.fate);
  }
  std::sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
    return std::tuple(a.verdict, b.bytes, b.count, a.first_ns, a.site, a.account, a.device,
                      a.mappings) < std::tuple(b.verdict, a.bytes, a.count, b.first_ns, b.site,
                                               b.account, b.device, b.mappings);
  });
  return findings;
}

}  // namespace gputrace::analyses

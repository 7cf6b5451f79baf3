// SPDX-License-Identifier: Apache-2.0
// What was not freed by the program, and what may be said about it.
#ifndef GPUTRACE_ANALYZER_ANALYSES_LEAKS_H_
#define GPUTRACE_ANALYZER_ANALYSES_LEAKS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analyzer/analyses/owners.h"
#include "analyzer/analyses/peak.h"
#include "analyzer/ledger/ledger.h"
#include "analyzer/ledger/observer.h"

namespace gputrace::analyses {

// Strongest first. What each means, and from what it follows: docs/metrics.md.
enum class Verdict : uint8_t {
  kLeak,
  kSuspectedGrowth,
  kOneShotSurvivor,
  kLateFreed,
  kCacheFilling,
  kCacheBounded,
  kPhaseScoped,
  kGcDelayed,
  kCacheUnknown,
  kRuntimeOwned,
  kUndecided,
};
enum class Behaviour : uint8_t {
  kOnce,     // the stack allocated a single time
  kUnknown,  // whether it grows cannot be told without phases
};
enum class Fate : uint8_t { kAlive, kFreedAtShutdown, kFreedByContextDestruction };
std::string_view VerdictName(Verdict verdict);        // "one_shot_survivor", …
std::string_view BehaviourName(Behaviour behaviour);  // empty if unknown
std::string_view FateName(Fate fate);

// The owner only labels; it never changes a verdict.
Verdict Decide(Behaviour behaviour, Fate fate);

// Allocations of one stack, account, device and fate.
struct Finding {
  Verdict verdict = Verdict::kUndecided;
  Behaviour behaviour = Behaviour::kUnknown;
  Fate fate = Fate::kAlive;
  OwnerClass owner = OwnerClass::kUnknown;
  uint32_t site = 0;
  ledger::Account account = ledger::Account::kDevice;
  int32_t device = ledger::kHost;
  uint64_t bytes = 0;
  uint64_t count = 0;
  int64_t first_ns = 0;  // births of the first and the last of them
  int64_t last_ns = 0;
  std::string_view missing_call;  // the call that would have ended it
  uint64_t site_allocations =
      0;  // ever made by this stack in this account, and freed by a call in time
  uint64_t site_frees = 0;
  // Of the largest: what still holds memory that is reference-counted.
  uint32_t references = 0;
  uint32_t mappings = 0;
};

class Leaks final : public ledger::Observer {
 public:
  explicit Leaks(Filter filter) : filter_(filter) {}

  void OnAllocate(const ledger::Allocation& allocation) override;
  void OnFree(const ledger::Allocation& allocation, const ledger::FreeEvent& event) override;
  void OnTakeBack(const ledger::Allocation& allocation, const ledger::FreeEvent& undone,
                  int64_t time_ns) override;

  // After the last record. Strongest verdict first, then most bytes, then most allocations.
  std::vector<Finding> Findings(const std::vector<const ledger::Ledger*>& ledgers,
                                OwnerTable* owners) const;

 private:
  struct Counters {
    uint64_t allocations = 0;
    uint64_t frees = 0;
  };
  struct GroupKey {
    uint32_t site;
    ledger::Account account;
    int32_t device;
    Fate fate;
    template <typename H>
    friend H AbslHashValue(H h, const GroupKey& key) {
      return H::combine(std::move(h), key.site, key.account, key.device, key.fate);
    }
    friend bool operator==(const GroupKey&, const GroupKey&) = default;
  };
  using Groups = absl::flat_hash_map<GroupKey, Finding>;

  static Fate FateOf(const ledger::FreeEvent& event);
  static void AddTo(Groups* groups, const ledger::Allocation& allocation, Fate fate);
  Counters& CountersOf(const ledger::Allocation& allocation);

  const Filter filter_;
  ledger::PerSite<Counters> sites_;
  Groups ended_;  // not by a call of the program's own, or only at its end
};

// The driver's function that ends objects of a kind.
std::string_view ClosingCall(const ledger::Allocation& allocation);

}  // namespace gputrace::analyses

#endif  // GPUTRACE_ANALYZER_ANALYSES_LEAKS_H_

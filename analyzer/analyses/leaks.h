// SPDX-License-Identifier: Apache-2.0
// What was not freed by the program, and what may be said about it.
#ifndef GPUTRACE_ANALYZER_ANALYSES_LEAKS_H_
#define GPUTRACE_ANALYZER_ANALYSES_LEAKS_H_

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
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

// A way in which the driver refused to free.
struct Refusal {
  int32_t result = 0;  // CUresult
  uint32_t site = 0;   // of the calls
  uint64_t count = 0;  // calls
};

// Objects that are no memory of the program's own, but that the driver keeps memory for.
inline constexpr ledger::AccountSet kLeakableObjects =
    ledger::Bit(ledger::Account::kModule) | ledger::Bit(ledger::Account::kGraphObject) |
    ledger::Bit(ledger::Account::kGraphExec) | ledger::Bit(ledger::Account::kPoolObject);

// Allocations of one stack, account, device and fate, that lack the same call.
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
  uint64_t launches = 0;          // of executable graphs, summed
  std::vector<Refusal> refusals;  // frees of these that the driver refused
  uint32_t origin = 0;            // of the largest: what was shared (ledger::ShareTable)
  bool is_stray = false;          // a context in which, and on whose device, nothing was allocated
};

class Leaks final : public ledger::Observer {
 public:
  explicit Leaks(Filter filter) : filter_(filter) {}

  void OnAllocate(const ledger::Allocation& allocation) override;
  void OnFree(const ledger::Allocation& allocation, const ledger::FreeEvent& event) override;
  void OnTakeBack(const ledger::Allocation& allocation, const ledger::FreeEvent& undone,
                  int64_t time_ns) override;
  void OnFailedFree(const ledger::Allocation& allocation,
                    const ledger::FailedFree& failed) override;
  void OnTeardown(const ledger::Allocation& allocation, const ledger::FreeEvent& event) override;

  // Tells stacks apart that are to be reported apart.
  using StackIdentity = absl::FunctionRef<uint64_t(uint32_t site)>;

  // After the last record. Without `owners` they are unknown. Strongest verdict first, then most
  // bytes, then most allocations.
  std::vector<Finding> Findings(const std::vector<const ledger::Ledger*>& ledgers,
                                OwnerTable* owners) const {
    return Findings(ledgers, owners, [](uint32_t site) { return uint64_t{site}; });
  }
  std::vector<Finding> Findings(const std::vector<const ledger::Ledger*>& ledgers,
                                OwnerTable* owners, StackIdentity identity) const;

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
    std::string_view missing_call;
    bool is_mapped;
    template <typename H>
    friend H AbslHashValue(H h, const GroupKey& key) {
      return H::combine(std::move(h), key.site, key.account, key.device, key.fate, key.missing_call,
                        key.is_mapped);
    }
    friend bool operator==(const GroupKey&, const GroupKey&) = default;
  };
  using AllocationKey = std::pair<uint32_t, uint64_t>;  // process, id
  using Groups = absl::flat_hash_map<GroupKey, Finding>;

  static Fate FateOf(const ledger::FreeEvent& event);
  static GroupKey KeyOf(const ledger::Allocation& allocation, Fate fate);
  static Finding& AddTo(Groups* groups, const ledger::Allocation& allocation, Fate fate);
  void NoteUse(const ledger::Allocation& allocation);
  bool IsStray(const ledger::Allocation& allocation) const;
  // One group where the stacks of several are to be reported as one.
  std::vector<Finding> Join(Groups groups, StackIdentity identity) const;
  Counters& CountersOf(const ledger::Allocation& allocation);

  const Filter filter_;
  ledger::PerSite<Counters> sites_;
  // Kept for what was freed after all: a free that is announced may fail again.
  absl::flat_hash_map<AllocationKey, std::vector<Refusal>> refusals_;
  // Where each process allocated: on devices, in contexts.
  absl::flat_hash_set<std::pair<uint32_t, int32_t>> devices_;
  absl::flat_hash_set<std::pair<uint32_t, uint32_t>> contexts_;
  absl::flat_hash_set<uint32_t> processes_;
  Groups ended_;  // not by a call of the program's own, or only at its end
};

// The driver's function that ends objects of a kind.
std::string_view ClosingCall(const ledger::Allocation& allocation);

}  // namespace gputrace::analyses

#endif  // GPUTRACE_ANALYZER_ANALYSES_LEAKS_H_

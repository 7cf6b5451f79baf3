// SPDX-License-Identifier: Apache-2.0
// How much memory is held per account and device: now, at most, and how often it was asked for.
#ifndef GPUTRACE_ANALYZER_ANALYSES_STATISTICS_H_
#define GPUTRACE_ANALYZER_ANALYSES_STATISTICS_H_

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analyzer/ledger/observer.h"

namespace gputrace::analyses {

struct AccountStatistics {
  uint64_t current = 0;      // bytes that were not freed
  uint64_t peak = 0;         // held at the same time
  int64_t peak_time_ns = 0;  // when the peak was first reached; 0 if there never was anything
  uint64_t survived = 0;     // of `current`: of processes that ended before the job did
  uint64_t count = 0;        // objects that are live
  uint64_t peak_count = 0;
  uint64_t allocs = 0;  // successful; for sampled accounts, how often the driver was asked
  uint64_t frees = 0;   // implicit ones too
  uint64_t failed = 0;  // allocations that the driver refused

  void Add(uint64_t bytes, int64_t time_ns);
  void Remove(uint64_t bytes);
};

struct DeviceStatistics {
  std::array<AccountStatistics, ledger::kAccounts> accounts;
  AccountStatistics total;  // over ledger::kDeviceAccounts; its counters stay 0
};

// What the driver takes for itself, as far as samples around single calls show it.
enum class UntracedCause : uint8_t { kContexts, kModules, kGraphs, kLimits };
inline constexpr size_t kUntracedCauses = 4;
// "contexts", …
const char* UntracedCauseName(UntracedCause cause);

// The driver's own count of a device's used memory beside what was traced at that moment.
struct UntracedSample {
  int32_t device = ledger::kHost;
  int64_t time_ns = 0;
  uint64_t driver_used = 0;                         // by all processes
  uint64_t traced = 0;                              // ours: device + arrays + vmm + pools + graphs
  std::array<int64_t, kUntracedCauses> by_cause{};  // up to then; the rest has no known cause

  int64_t untraced() const {
    return static_cast<int64_t>(driver_used) - static_cast<int64_t>(traced);
  }
};

class Statistics final : public ledger::Observer {
 public:
  void OnAllocate(const ledger::Allocation& allocation) override;
  void OnFree(const ledger::Allocation& allocation, const ledger::FreeEvent& event) override;
  void OnTakeBack(const ledger::Allocation& allocation, const ledger::FreeEvent& undone,
                  int64_t time_ns) override;
  void OnResize(const ledger::Allocation& allocation, uint64_t old_bytes, int64_t time_ns) override;
  void OnProcessEnd(const ledger::Allocation& allocation, int64_t time_ns) override;
  void OnFailure(const ledger::Failure& failure) override;
  void OnSample(const ledger::Sample& sample) override;

  const DeviceStatistics& all() const { return all_; }
  // Null if nothing ever happened on that device; kHost is what is on none.
  const DeviceStatistics* device(int32_t device) const;
  // Devices on which something happened, in order.
  std::vector<int32_t> devices() const;
  // The last sample of each device, and the one with the most memory in use if that is another.
  std::vector<UntracedSample> untraced() const;

 private:
  struct Untraced {
    UntracedSample last;
    UntracedSample highest;
    bool any = false;
  };

  DeviceStatistics& Of(int32_t device);
  void Hold(const ledger::Allocation& allocation, int64_t time_ns);
  void Drop(const ledger::Allocation& allocation);
  void SetSampled(ledger::Account account, int32_t device, uint64_t* last, uint64_t bytes,
                  int64_t time_ns);
  uint64_t Traced(int32_t device);
  void CompareWithDriver(const ledger::Sample& sample);

  DeviceStatistics all_;
  std::vector<DeviceStatistics> by_device_;  // by device + 1
  // What was last sampled: reserved bytes of (process, pool) and of graphs by (process, device).
  absl::flat_hash_map<std::pair<uint32_t, uint64_t>, uint64_t> pool_reserved_;
  absl::flat_hash_map<std::pair<uint32_t, int32_t>, uint64_t> graph_reserved_;
  std::vector<Untraced> untraced_;  // by device
  // The last sample of each (process, thread): what its next one may be compared with.
  absl::flat_hash_map<std::pair<uint32_t, uint32_t>, UntracedSample> last_of_thread_;
};

}  // namespace gputrace::analyses

#endif  // GPUTRACE_ANALYZER_ANALYSES_STATISTICS_H_

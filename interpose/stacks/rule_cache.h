// SPDX-License-Identifier: Apache-2.0
// The rules of the addresses that one thread's stacks have shown.
#ifndef GPUTRACE_INTERPOSE_STACKS_RULE_CACHE_H_
#define GPUTRACE_INTERPOSE_STACKS_RULE_CACHE_H_

#include <cstdint>

#include "interpose/stacks/cfi.h"
#include "interpose/stacks/frame_rule.h"

namespace gputrace::interpose {

// Zeroed memory is an empty cache. One thread's own.
class RuleCache {
 public:
  // The rule for code at `address`, kNone also for code of no loaded object. From the cache within
  // a few nanoseconds; else it is read from the object, which takes the loader's lock.
  FrameRule Find(uint64_t address) {
    const uint64_t key = address | period_ << kAddressBits;
    Set& set = sets_[SetOf(address)];
    for (const Entry& entry : set.entries) {
      if (entry.key == key) return entry.rule;
    }
    return FindSlow(address);
  }

  // Forgets all, at once.
  void Clear();

 private:
  static constexpr uint32_t kAddressBits = 48;
  static constexpr uint32_t kSetBits = 10;
  static constexpr uint32_t kWays = 4;
  static constexpr uint32_t kModules = 16;

  struct Entry {
    uint64_t key;  // address, and above it the period
    FrameRule rule;
  };
  struct alignas(64) Set {
    Entry entries[kWays];
  };

  static uint32_t SetOf(uint64_t address) {
    return static_cast<uint32_t>(address * 0x9e3779b97f4a7c15u >> (64 - kSetBits));
  }
  FrameRule FindSlow(uint64_t address);
  const CodeModule* FindModule(uint64_t address);

  uint64_t period_;  // 1 to 65535 once anything is in the cache
  uint32_t next_way_;
  uint32_t next_module_;
  CodeModule modules_[kModules];  // those met last
  Set sets_[1u << kSetBits];
};

}  // namespace gputrace::interpose

#endif  // GPUTRACE_INTERPOSE_STACKS_RULE_CACHE_H_

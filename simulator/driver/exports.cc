// SPDX-License-Identifier: Apache-2.0
#include "simulator/driver/exports.h"

#include <random>

#include "simulator/driver/state.h"

namespace gputrace::sim {

bool Enter(uint32_t entry, int* result) {
  const uint64_t call = g_calls[entry].fetch_add(1, std::memory_order_relaxed) + 1;
  const auto& failures = state().config.failures;
  if (failures.empty()) return false;
  const auto found = failures.find(kExports[entry].symbol);
  if (found == failures.end()) return false;
  const FailureRule& rule = found->second;
  *result = rule.result;
  if (rule.call != 0) return call == rule.call;
  static std::mt19937_64 random(state().config.seed);
  const Locked locked;
  return std::uniform_real_distribution<double>(0, 1)(random) < rule.probability;
}

}  // namespace gputrace::sim

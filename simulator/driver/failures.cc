// SPDX-License-Identifier: Apache-2.0
#include "simulator/driver/failures.h"

#include "simulator/driver/config.h"
#include "simulator/driver/entry.h"

namespace gputrace::sim {
namespace {

// A number from 0 to 1 that depends on the seed, the entry and the number of its call only, so that
// a run can be repeated whatever its threads do. (SplitMix64.)
double Chance(uint64_t seed, unsigned index, uint64_t call_number) {
  uint64_t x = seed * 0x9e3779b97f4a7c15 + (uint64_t{index} << 40) + call_number;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  x ^= x >> 31;
  return static_cast<double>(x >> 11) * 0x1p-53;
}

}  // namespace

CUresult InjectedFailure(unsigned index, uint64_t call_number) {
  const Config& told = config();
  for (const FailureRule& rule : told.failures) {
    if (rule.symbol != kEntries[index].symbol) continue;
    const bool fails = rule.call != 0 ? rule.call == call_number
                                      : Chance(told.seed, index, call_number) < rule.probability;
    if (fails) return static_cast<CUresult>(rule.result);
  }
  return CUDA_SUCCESS;
}

}  // namespace gputrace::sim

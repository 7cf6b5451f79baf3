// SPDX-License-Identifier: Apache-2.0
// Free ranges of an address space: best fit, neighbours joined.
#ifndef GPUTRACE_SIMULATOR_DRIVER_RANGES_H_
#define GPUTRACE_SIMULATOR_DRIVER_RANGES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace gputrace::sim {

class FreeRanges {
 public:
  // Puts [start, start + size) back. It is joined with free neighbours that lie within [low, high).
  void Insert(uint64_t start, uint64_t size, uint64_t low, uint64_t high);

  // Takes `size` out of the smallest range that holds it, at its lower end.
  std::optional<uint64_t> Take(uint64_t size);

  // Takes exactly this range, if all of it is free.
  bool TakeAt(uint64_t start, uint64_t size);

  bool Contains(uint64_t start, uint64_t size) const;
  uint64_t total() const { return total_; }

 private:
  void Add(uint64_t start, uint64_t size);
  void Remove(std::map<uint64_t, uint64_t>::iterator range);

  std::map<uint64_t, uint64_t> by_start_;
  std::set<std::pair<uint64_t, uint64_t>> by_size_;
  uint64_t total_ = 0;
};

}  // namespace gputrace::sim

#endif  // GPUTRACE_SIMULATOR_DRIVER_RANGES_H_

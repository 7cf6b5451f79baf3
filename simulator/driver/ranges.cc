// SPDX-License-Identifier: Apache-2.0
#include "simulator/driver/ranges.h"

#include <iterator>

namespace gputrace::sim {

void FreeRanges::Add(uint64_t start, uint64_t size) {
  if (size == 0) return;
  by_start_.emplace(start, size);
  by_size_.emplace(size, start);
  total_ += size;
}

void FreeRanges::Remove(std::map<uint64_t, uint64_t>::iterator range) {
  by_size_.erase({range->second, range->first});
  total_ -= range->second;
  by_start_.erase(range);
}

void FreeRanges::Insert(uint64_t start, uint64_t size, uint64_t low, uint64_t high) {
  auto after = by_start_.lower_bound(start);
  if (after != by_start_.end() && after->first == start + size && start + size < high) {
    size += after->second;
    const auto gone = after++;
    Remove(gone);
  }
  if (after != by_start_.begin() && start > low) {
    const auto before = std::prev(after);
    if (before->first + before->second == start) {
      start = before->first;
      size += before->second;
      Remove(before);
    }
  }
  Add(start, size);
}

std::optional<uint64_t> FreeRanges::Take(uint64_t size) {
  const auto best = by_size_.lower_bound({size, 0});
  if (best == by_size_.end()) return std::nullopt;
  const uint64_t start = best->second;
  TakeAt(start, size);
  return start;
}

bool FreeRanges::TakeAt(uint64_t start, uint64_t size) {
  if (!Contains(start, size)) return false;
  const auto range = std::prev(by_start_.upper_bound(start));
  const auto [range_start, range_size] = *range;
  Remove(range);
  Add(range_start, start - range_start);
  Add(start + size, range_start + range_size - start - size);
  return true;
}

bool FreeRanges::Contains(uint64_t start, uint64_t size) const {
  const auto after = by_start_.upper_bound(start);
  if (after == by_start_.begin()) return false;
  const auto& [range_start, range_size] = *std::prev(after);
  return start + size <= range_start + range_size;
}

}  // namespace gputrace::sim

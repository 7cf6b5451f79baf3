// SPDX-License-Identifier: Apache-2.0
#include "trace/clock_map.h"

#include <algorithm>
#include <cmath>

namespace gputrace::trace {

ClockMap::ClockMap(const FileHeader& header) {
  anchors_.push_back({0, 0});
  const double ticks_per_unit = std::ldexp(1.0, header.time_shift);
  const bool monotonic = header.clock == static_cast<uint8_t>(ClockSource::kMonotonic);
  const double ticks_per_second = monotonic || header.ticks_per_second == 0
                                      ? 1e9
                                      : static_cast<double>(header.ticks_per_second);
  first_estimate_ = ticks_per_unit * 1e9 / ticks_per_second;
}

void ClockMap::AddAnchor(uint64_t units, uint64_t ns) {
  const Anchor& last = anchors_.back();
  if (units > last.units && ns > last.ns) anchors_.push_back({units, ns});
}

double ClockMap::NsPerUnit() const {
  const Anchor& last = anchors_.back();
  if (last.units == 0) return first_estimate_;
  return static_cast<double>(last.ns) / static_cast<double>(last.units);
}

int64_t ClockMap::ToNs(uint64_t units) const {
  const Anchor& last = anchors_.back();
  if (units >= last.units) {
    const double ns = static_cast<double>(units - last.units) * NsPerUnit();
    // A damaged time must not overflow; a century is far beyond any trace.
    return static_cast<int64_t>(std::min(static_cast<double>(last.ns) + ns, 3.2e18));
  }
  if (hint_ + 1 >= anchors_.size() || units < anchors_[hint_].units ||
      units >= anchors_[hint_ + 1].units) {
    const auto after = std::upper_bound(anchors_.begin(), anchors_.end(), units,
                                        [](uint64_t u, const Anchor& a) { return u < a.units; });
    hint_ = static_cast<size_t>(after - anchors_.begin()) - 1;
  }
  const Anchor& a = anchors_[hint_];
  const Anchor& b = anchors_[hint_ + 1];
  const double rate = static_cast<double>(b.ns - a.ns) / static_cast<double>(b.units - a.units);
  return static_cast<int64_t>(a.ns) +
         static_cast<int64_t>(static_cast<double>(units - a.units) * rate);
}

uint64_t ClockMap::DurationToNs(uint64_t units) const {
  return static_cast<uint64_t>(std::min(static_cast<double>(units) * NsPerUnit(), 9e18));
}

}  // namespace gputrace::trace

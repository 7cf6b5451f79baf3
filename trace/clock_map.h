// SPDX-License-Identifier: Apache-2.0
// Converts the time units of a trace (a right-shifted tick counter) to nanoseconds since its start,
// by the pairs of readings that its blocks carry.
#ifndef GPUTRACE_TRACE_CLOCK_MAP_H_
#define GPUTRACE_TRACE_CLOCK_MAP_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace/format.h"

namespace gputrace::trace {

class ClockMap {
 public:
  explicit ClockMap(const FileHeader& header);

  // Anchors must come in order; one that would make time stand still or go back is ignored.
  void AddAnchor(uint64_t units, uint64_t ns);

  // Between anchors by interpolation; after the last one at the rate of the whole trace. Monotonic.
  int64_t ToNs(uint64_t units) const;
  uint64_t DurationToNs(uint64_t units) const;

 private:
  struct Anchor {
    uint64_t units;
    uint64_t ns;
  };
  double NsPerUnit() const;

  std::vector<Anchor> anchors_;
  double first_estimate_;    // ns per unit
  mutable size_t hint_ = 0;  // segment of the last look-up: times come mostly in order
};

}  // namespace gputrace::trace

#endif  // GPUTRACE_TRACE_CLOCK_MAP_H_

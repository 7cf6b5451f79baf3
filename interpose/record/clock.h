// SPDX-License-Identifier: Apache-2.0
// The clock that stamps records: the time-stamp counter where it is invariant, else
// CLOCK_MONOTONIC.
#ifndef GPUTRACE_INTERPOSE_RECORD_CLOCK_H_
#define GPUTRACE_INTERPOSE_RECORD_CLOCK_H_

#include <time.h>

#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

#include "interpose/record/sys.h"
#include "trace/format.h"

namespace gputrace::interpose {

inline uint64_t ReadNs(clockid_t clock) {
  // clock_gettime is answered without a system call; it may set errno only if the clock is unknown.
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

inline trace::ClockSource FindClockSource() {
#if defined(__x86_64__)
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  // Leaf 0x80000007, EDX bit 8: invariant TSC (Intel SDM volume 3, "Invariant TSC"; AMD APM alike).
  if (__get_cpuid(0x80000007u, &a, &b, &c, &d) != 0 && (d & (1u << 8)) != 0) {
    return trace::ClockSource::kTsc;
  }
#endif
  return trace::ClockSource::kMonotonic;
}

inline uint64_t ReadTicks(trace::ClockSource source) {
#if defined(__x86_64__)
  if (source == trace::ClockSource::kTsc) return __rdtsc();
#endif
  return ReadNs(CLOCK_MONOTONIC);
}

}  // namespace gputrace::interpose

#endif  // GPUTRACE_INTERPOSE_RECORD_CLOCK_H_

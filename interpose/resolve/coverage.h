// SPDX-License-Identifier: Apache-2.0
// What the resolvers saw that the trace cannot account for. The recorder reads these notes and
// writes them into the trace; every report shows them.
#ifndef GPUTRACE_INTERPOSE_RESOLVE_COVERAGE_H_
#define GPUTRACE_INTERPOSE_RESOLVE_COVERAGE_H_

#include <atomic>
#include <cstdint>

#include "trace/format.h"

namespace gputrace::interpose {

struct CoverageNote {
  trace::CoverageWhat what;
  char name[64];                // of the driver entry
  std::atomic<uint32_t> count;  // how often it was handed out
  std::atomic<bool> ready;      // the rest may be read
};

inline constexpr uint32_t kMaxCoverageNotes = 64;

// Adds to the note with this content, which is made if it is new; nothing happens when all are
// taken. Lock-free: from any thread, also within the resolvers.
void NoteCoverage(trace::CoverageWhat what, const char* name);

// The note at `index`, or null if there is none (yet). Notes never move nor go.
const CoverageNote* CoverageNoteAt(uint32_t index);

}  // namespace gputrace::interpose

#endif  // GPUTRACE_INTERPOSE_RESOLVE_COVERAGE_H_

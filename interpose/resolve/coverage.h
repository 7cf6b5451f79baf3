// SPDX-License-Identifier: Apache-2.0
// By which ways the program has got at the driver's entries, and what the trace cannot account for.
// The writer puts these notes into the trace; every report shows them. All is lock-free: notes are
// made from any thread, also within the resolvers.
#ifndef GPUTRACE_INTERPOSE_RESOLVE_COVERAGE_H_
#define GPUTRACE_INTERPOSE_RESOLVE_COVERAGE_H_

#include <atomic>
#include <cstdint>

#include "trace/format.h"

namespace gputrace::interpose {

struct CoverageNote {
  trace::CoverageWhat what;
  char name[64];                // of the driver entry
  std::atomic<uint32_t> count;  // how often
  std::atomic<bool> ready;      // the rest may be read
};

inline constexpr uint32_t kMaxCoverageNotes = 64;

// Adds to the note with this content, which is made if it is new; nothing happens when all are
// taken.
void NoteCoverage(trace::CoverageWhat what, const char* name);

// The note at `index`, or null if there is none (yet). Notes never move nor go.
const CoverageNote* CoverageNoteAt(uint32_t index);

inline constexpr uint16_t kMaxWrappers = 511;

// Notes that the wrapper with this id was reached by `way`: kLinked, kDlsym or kProcAddress.
void NoteWay(uint16_t wrapper, trace::CoverageWhat way);

// The ways of a wrapper so far, as bits 1 << way.
uint8_t WaysOf(uint16_t wrapper);

// Changes with every note, so that a reader need not look for what is new.
uint32_t CoverageChanges();

}  // namespace gputrace::interpose

#endif  // GPUTRACE_INTERPOSE_RESOLVE_COVERAGE_H_

// SPDX-License-Identifier: Apache-2.0
#include "interpose/resolve/coverage.h"

#include "interpose/resolve/elf_symbols.h"

namespace gputrace::interpose {
namespace {

CoverageNote g_notes[kMaxCoverageNotes];
std::atomic<uint32_t> g_claimed;

}  // namespace

void NoteCoverage(trace::CoverageWhat what, const char* name) {
  const uint32_t claimed = g_claimed.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < claimed && i < kMaxCoverageNotes; ++i) {
    CoverageNote& note = g_notes[i];
    if (note.ready.load(std::memory_order_acquire) && note.what == what &&
        SameName(note.name, name)) {
      note.count.fetch_add(1, std::memory_order_relaxed);
      return;
    }
  }
  // Two threads that note the same for the first time at once make two notes; readers add them up.
  if (claimed >= kMaxCoverageNotes) return;
  const uint32_t slot = g_claimed.fetch_add(1, std::memory_order_acq_rel);
  if (slot >= kMaxCoverageNotes) return;
  CoverageNote& note = g_notes[slot];
  note.what = what;
  for (uint32_t i = 0; i + 1 < sizeof(note.name) && name[i] != '\0'; ++i) note.name[i] = name[i];
  note.count.store(1, std::memory_order_relaxed);
  note.ready.store(true, std::memory_order_release);
}

const CoverageNote* CoverageNoteAt(uint32_t index) {
  if (index >= kMaxCoverageNotes || !g_notes[index].ready.load(std::memory_order_acquire)) {
    return nullptr;
  }
  return &g_notes[index];
}

}  // namespace gputrace::interpose

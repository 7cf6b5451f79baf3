// SPDX-License-Identifier: Apache-2.0
#include "interpose/resolve/coverage.h"

#include "interpose/resolve/elf_symbols.h"

namespace gputrace::interpose {
namespace {

CoverageNote g_notes[kMaxCoverageNotes];
std::atomic<uint32_t> g_claimed;
std::atomic<uint8_t> g_ways[kMaxWrappers + 1];
std::atomic<uint32_t> g_changes;

// After the note itself: who sees the change sees what has changed.
void NoteChange() { g_changes.fetch_add(1, std::memory_order_release); }

}  // namespace

void NoteCoverage(trace::CoverageWhat what, const char* name) {
  const uint32_t claimed = g_claimed.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < claimed && i < kMaxCoverageNotes; ++i) {
    CoverageNote& note = g_notes[i];
    if (note.ready.load(std::memory_order_acquire) && note.what == what &&
        SameName(note.name, name)) {
      note.count.fetch_add(1, std::memory_order_relaxed);
      NoteChange();
      return;
    }
  }
  // Two threads that note the same for the first time at once make two notes: the larger count is
  // then a little too small.
  if (claimed >= kMaxCoverageNotes) return;
  const uint32_t slot = g_claimed.fetch_add(1, std::memory_order_acq_rel);
  if (slot >= kMaxCoverageNotes) return;
  CoverageNote& note = g_notes[slot];
  note.what = what;
  for (uint32_t i = 0; i + 1 < sizeof(note.name) && name[i] != '\0'; ++i) note.name[i] = name[i];
  note.count.store(1, std::memory_order_relaxed);
  note.ready.store(true, std::memory_order_release);
  NoteChange();
}

const CoverageNote* CoverageNoteAt(uint32_t index) {
  if (index >= kMaxCoverageNotes || !g_notes[index].ready.load(std::memory_order_acquire)) {
    return nullptr;
  }
  return &g_notes[index];
}

void NoteWay(uint16_t wrapper, trace::CoverageWhat way) {
  const auto bit = static_cast<uint8_t>(1u << static_cast<unsigned>(way));
  if ((g_ways[wrapper].load(std::memory_order_relaxed) & bit) != 0) return;
  g_ways[wrapper].fetch_or(bit, std::memory_order_relaxed);
  NoteChange();
}

uint8_t WaysOf(uint16_t wrapper) { return g_ways[wrapper].load(std::memory_order_relaxed); }

uint32_t CoverageChanges() { return g_changes.load(std::memory_order_acquire); }

}  // namespace gputrace::interpose

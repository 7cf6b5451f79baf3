// SPDX-License-Identifier: Apache-2.0
// Layout of the rings' file (X.gputrace.live): what a process's threads have recorded and the
// writer has not yet written to X.gputrace. The traced process maps it shared, so that its content
// outlives any death of the process; a reader folds it in.
//
//   page 0          LiveHeader
//   then, per ring  one page RingHeader, then ring_bytes of data
//
// Positions in a ring are counted in bytes since the ring's birth and never wrap: the data of
// position p is at p % ring_bytes. A record never straddles a reader's view: the process maps the
// data twice in a row; a reader of the file has to join the two parts.
#ifndef GPUTRACE_TRACE_LIVE_H_
#define GPUTRACE_TRACE_LIVE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "trace/format.h"

namespace gputrace::trace {

inline constexpr char kLiveMagic[kMagicBytes + 1] = "\x89GPULIV\n";
inline constexpr uint16_t kLiveVersion = 1;
inline constexpr size_t kLivePageBytes = 4096;
inline constexpr uint32_t kMaxRings = 1024;

struct LiveHeader {
  char magic[kMagicBytes];
  uint16_t version;
  uint16_t reserved;
  uint32_t header_crc32;  // of the fields from trace_id to start_time (fixed before the first ring)
  uint8_t trace_id[16];
  uint32_t pid;
  uint32_t ring_bytes;          // power of two
  uint64_t process_start_time;  // field 22 of /proc/PID/stat: tells a reused pid
  std::atomic<uint32_t> rings;  // how many rings follow
  std::atomic<uint32_t> wake;   // futex: the writer sleeps on it
  std::atomic<uint32_t>
      ended;  // 1 once the writer has written everything and only late calls follow
  // Events of threads that got no ring, and how many of these the trace tells of.
  std::atomic<uint64_t> lost_without_ring;
  std::atomic<uint64_t> lost_without_ring_reported;
};
static_assert(sizeof(LiveHeader) <= kLivePageBytes);

enum class RingState : uint32_t { kUnused = 0, kOwned = 1, kAbandoned = 2 };

struct RingHeader {
  // Written by the thread that owns the ring.
  alignas(64) std::atomic<uint64_t> head;  // end of what is published
  // 0: between calls. Else a record is being written whose stamp is at least this.
  std::atomic<uint64_t> committing;
  // While a call whose intent was recorded is being forwarded: position of that intent + 1.
  std::atomic<uint64_t> in_call;
  std::atomic<uint64_t> lost;  // events that found no room
  // Written by the writer.
  alignas(64) std::atomic<uint64_t> tail;  // everything before is in the trace file
  std::atomic<uint64_t> lost_reported;
  // Fixed while a thread owns the ring.
  alignas(64) std::atomic<uint32_t> state;  // RingState
  uint32_t tid;
  uint32_t thread;   // dictionary id
  uint32_t ring_id;  // unique in the trace: a recycled ring gets a new one and starts at position 0
  char name[32];     // of the thread, when it attached
};
static_assert(sizeof(RingHeader) <= kLivePageBytes);

// A record in a ring: this header, then operands of 8 bytes each.
struct RingRecord {
  uint8_t kind;   // RecordKind, or RingOnlyKind
  uint8_t flags;  // RecordFlags
  uint16_t entry;
  uint16_t words;  // of 8 bytes, this header included
  uint16_t reserved;
  uint64_t ticks;        // raw clock
  uint64_t native_hash;  // of the stack; for definitions: the hash being defined
  uint64_t python_hash;
  int32_t result;
  uint32_t context;         // dictionary id
  uint32_t duration_ticks;  // saturating
  uint32_t epoch;           // of the loaded modules, for definitions of stacks and modules
};
static_assert(sizeof(RingRecord) == 48);
inline constexpr uint32_t kRingRecordWords = sizeof(RingRecord) / 8;
inline constexpr uint32_t kMaxRingRecordWords = kRingRecordWords + 2 * kMaxStackDepth;

// Definitions travel in the ring in front of the first record that uses them, named by hash, so
// that a ring never depends on another one. Texts are packed into words, zero-padded.
enum class RingOnlyKind : uint8_t {
  kStack = 0x80,        // native_hash; words: pcs, innermost first; epoch
  kPythonStack = 0x81,  // python_hash; pairs of words: hash of the code object, instruction + 1
  kString = 0x82,       // native_hash; words: RingText of 1
  kCodeObject =
      0x83,  // native_hash; words: first line, version, RingText of 3: name, file, line table
  kContext = 0x84,  // words: dictionary id, handle, device + 1 (0: unknown)
  kModule = 0x85,   // native_hash: of identity; words: start, end, bias, RingText of 2: path,
                    // build-id; epoch
  kDevice = 0x86,   // words: ordinal, total bytes, uuid (2 words), RingText of 1: name
  kFact = 0x87,     // words: RingText of 2: key, value
};
inline constexpr uint8_t kFirstRingOnlyKind = 0x80;

// RingText of n: n words with the lengths in bytes, then the bytes of all texts in a row, padded to
// whole words.

// Operands that name strings: in a ring by hash, in the trace file by dictionary id. Bit i is set
// if operand i of the kind does; 0 stands for no string in both.
constexpr uint32_t StringOperands(RecordKind kind) {
  switch (kind) {
    case RecordKind::kFrameworkBlock:
      return 1u << static_cast<unsigned>(FrameworkBlockOperand::kName);
    case RecordKind::kFrameworkReport:
      return 1u << static_cast<unsigned>(FrameworkReportOperand::kText);
    case RecordKind::kPhase:
      return 1u << static_cast<unsigned>(PhaseOperand::kName) |
             1u << static_cast<unsigned>(PhaseOperand::kDomain);
    case RecordKind::kCoverage:
      return 1u << static_cast<unsigned>(CoverageOperand::kName);
    case RecordKind::kVariable:
      return 1u << static_cast<unsigned>(VariableOperand::kName);
    default:
      return 0;
  }
}

}  // namespace gputrace::trace

#endif  // GPUTRACE_TRACE_LIVE_H_

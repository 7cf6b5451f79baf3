// SPDX-License-Identifier: Apache-2.0
// Constants of the .gputrace container and of its records. docs/format.md is the prose of this
// file.
//
// Everything in the file is little-endian. This header is used by the tracer, which may not
// allocate, and by readers: it holds plain enums and fixed-size structs only.
#ifndef GPUTRACE_TRACE_FORMAT_H_
#define GPUTRACE_TRACE_FORMAT_H_

#include <cstddef>
#include <cstdint>

namespace gputrace::trace {

inline constexpr uint16_t kFormatVersion = 1;
// The oldest reader version that can make sense of what this writer produces.
inline constexpr uint16_t kMinimumReaderVersion = 1;

inline constexpr size_t kMagicBytes = 8;
// The first byte is not ASCII and the last is a line feed, so that text-mode transfers are
// detected.
inline constexpr char kFileMagic[kMagicBytes + 1] = "\x89GPUTRC\n";
inline constexpr char kBlockMagic[kMagicBytes + 1] = "\xabGPTBLK\n";
inline constexpr char kTrailerMagic[kMagicBytes + 1] = "\xabGPTEND\n";

// Bounds that a writer keeps and a reader may rely on; more is damage.
inline constexpr uint32_t kMaxBlockRawBytes = 4u << 20;
inline constexpr uint32_t kMaxBlockStoredBytes = kMaxBlockRawBytes + (64u << 10);
inline constexpr uint32_t kMaxRecordsPerBlock = 16384;
inline constexpr uint32_t kMaxOperands = 64;
inline constexpr uint32_t kMaxStackDepth = 256;
inline constexpr uint32_t kMaxStringBytes = 64u << 10;

enum class ClockSource : uint8_t { kTsc = 1, kMonotonic = 2 };

// The fixed part of the file header. It is followed by `live_path_bytes` bytes (the path of the
// rings' file as the tracer opened it, not terminated) and a CRC-32 of everything before it.
struct FileHeader {
  char magic[kMagicBytes];
  uint16_t version;
  uint16_t minimum_reader;
  uint32_t header_bytes;  // whole header, CRC included
  uint8_t trace_id[16];
  uint8_t time_shift;  // one time unit of this file is 2^time_shift clock ticks
  uint8_t clock;       // ClockSource
  uint16_t live_path_bytes;
  uint32_t pid;
  uint64_t start_ticks;         // clock value that is time 0 of this trace
  uint64_t start_monotonic_ns;  // CLOCK_MONOTONIC at that moment
  uint64_t start_realtime_ns;   // CLOCK_REALTIME at that moment
  uint64_t ticks_per_second;    // a first estimate; the anchors in the blocks are exact
  char boot_id[40];             // text of the kernel's boot id, zero-padded; zero if unknown
};
static_assert(sizeof(FileHeader) == 112);

enum class BlockKind : uint8_t {
  kDictionary = 1,  // definitions; layout kTlv
  kEvents = 2,      // the timeline; layout kColumns
  kBaseState = 3,   // records that were still open when older blocks were dropped; layout kColumns
  kIndex = 4,       // where the blocks are; layout kTlv
};
enum class BlockCodec : uint8_t { kStored = 0, kZstd = 1 };
enum class BlockLayout : uint8_t { kTlv = 1, kColumns = 2 };

struct BlockHeader {
  char magic[kMagicBytes];
  uint8_t kind;    // BlockKind; unknown kinds are skipped
  uint8_t codec;   // BlockCodec
  uint8_t layout;  // BlockLayout
  uint8_t reserved;
  uint32_t stored_bytes;  // of the payload that follows this header
  uint32_t raw_bytes;     // of the payload after decompression
  uint32_t records;       // in the payload
  uint32_t lost_events;   // calls that were not recorded, found out since the block before
  uint32_t reserved2;
  uint64_t sequence;           // 0, 1, 2, … over all blocks of the file: a gap is a lost block
  uint64_t dictionary_blocks;  // how many dictionary blocks stand before this one: the watermark
  uint64_t first_time;         // time units; of the first and last record, 0 if there is none
  uint64_t last_time;
  uint64_t anchor_time;    // time units: this moment …
  uint64_t anchor_ns;      // … is this many CLOCK_MONOTONIC ns after start_monotonic_ns
  uint32_t payload_crc32;  // of the stored payload
  uint32_t header_crc32;   // of the bytes before this field
};
static_assert(sizeof(BlockHeader) == 88);

// The last bytes of a file that ended well; the index block is found through it.
struct Trailer {
  uint64_t index_offset;  // file offset of the index block's header
  uint64_t index_bytes;   // header and payload
  uint32_t reserved;
  uint32_t crc32;  // of the bytes before this field
  char magic[kMagicBytes];
};
static_assert(sizeof(Trailer) == 32);

enum class DictionaryType : uint8_t {
  kString = 1,
  kEntry = 2,
  kStack = 3,
  kPythonStack = 4,
  kModule = 5,
  kModuleUnload = 6,
  kCodeObject = 7,
  kThread = 8,
  kContext = 9,
  kDevice = 10,
  kAllocator = 11,
  kFact = 12,
  kTrouble = 13,
  kEnd = 14,
};

// Only an orderly exit is written by the traced process itself, the others when a trace is
// repaired.
enum class EndReason : uint8_t { kExit = 1, kKilled = 2, kExec = 3 };

// Kinds of the timeline's records. All have the same shape (see docs/format.md); a reader that does
// not know a kind skips the record.
enum class RecordKind : uint8_t {
  kCall = 1,            // recorded after the driver answered
  kIntent = 2,          // recorded before a call that can make an address or handle reusable
  kCompletion = 3,      // what became of the thread's last intent, if it failed or has out operands
  kFrameworkBlock = 4,  // operands: FrameworkBlockOperand
  kFrameworkReport = 5,
  kPhase = 6,
  kSample = 7,
  kLoss = 8,
  kModuleEpoch = 9,
  kCoverage = 10,
  kVariable = 11,
};
inline constexpr uint8_t kLastRecordKind = 11;

enum RecordFlags : uint8_t {
  kFlagUncertain = 1,       // an intent that was in flight when the process died
  kFlagTruncatedStack = 2,  // the native or Python stack was cut at a limit or could not be read on
  kFlagBaseState = 4,
  kFlagAfterExit = 8,     // recorded after the process's exit handlers of the tracer had run
  kFlagCutOperands = 16,  // the call had more operands than kMaxOperands
};

// Operand positions of the kinds that are not calls.
enum class FrameworkBlockOperand : uint8_t {
  kOperation = 0,  // FrameworkOperation
  kAllocator,      // dictionary id
  kAddress,
  kBytes,      // as the allocator accounts for it (rounded)
  kRequested,  // as the program asked for it; 0 if unknown
  kStream,
  kSegment,  // address of the driver allocation that holds the block; 0 if unknown
  kName,     // string id; 0 if unknown
  kCountOf,
};
enum class FrameworkOperation : uint8_t {
  kAllocate = 1,
  kFree = 2,      // freed by the program
  kReusable = 3,  // may be handed out again
  kSegmentAllocate = 4,
  kSegmentFree = 5,
};
enum class FrameworkReportOperand : uint8_t {
  kReport = 0,  // FrameworkReport
  kAllocator,
  kRequested,
  kAllocatedBytes,
  kReservedBytes,
  kLimit,
  kLargestFree,
  kText,
  kCountOf,
};
enum class FrameworkReport : uint8_t { kStatistics = 1, kOutOfMemory = 2 };
enum class PhaseOperand : uint8_t { kOperation = 0, kSource, kName, kDomain, kIdentity, kCountOf };
enum class PhaseOperation : uint8_t { kBegin = 1, kEnd = 2, kInstant = 3 };
enum class PhaseSource : uint8_t { kMark = 1, kNvtx = 2, kRecordFunction = 3, kTraceMe = 4 };
enum class SampleOperand : uint8_t {
  kSource = 0,
  kDevice,
  kObject,
  kValue0,
  kValue1,
  kValue2,
  kValue3,
  kCountOf
};
enum class SampleSource : uint8_t {
  kMemGetInfo = 1,   // values: free, total
  kPool = 2,         // values: reserved now, reserved high, used now, used high; object: the pool
  kGraphMemory = 3,  // the same four values, per device
  kContext = 4,      // value: bytes by which the device's free memory fell; object: the context
  kModule = 5,
};
enum class LossOperand : uint8_t { kReason = 0, kEvents, kRing, kCountOf };
enum class LossReason : uint8_t { kRingFull = 1, kSizeLimit = 2, kWriteError = 3, kPaused = 4 };
enum class ModuleEpochOperand : uint8_t { kEpoch = 0, kCountOf };
enum class CoverageOperand : uint8_t { kWhat = 0, kName, kCount, kCountOf };
enum class CoverageWhat : uint8_t {
  kUnknownEntry = 1,      // a memory-like name the table does not know was handed out
  kUnwrappedPointer = 2,  // an entry was handed out without a wrapper
  kLinked = 3,            // a wrapped entry was called by its exported name
  kDlsym = 4,             // a wrapped entry was looked up by dlsym or dlvsym
  kProcAddress = 5,       // a wrapped entry was an answer of cuGetProcAddress
  kUnknownExport = 6,     // the driver exports a memory-like name the table does not know
};
enum class VariableOperand : uint8_t { kName = 0, kValue, kCountOf };

// What an entry does to the objects it names.
enum class Verb : uint8_t {
  kOpen = 1,
  kClose,
  kRetain,
  kRelease,
  kMap,
  kUnmap,
  kBind,
  kUnbind,
  kSetCurrent,
  kSync,
  kWait,
  kCaptureBegin,
  kCaptureEnd,
  kLaunch,
  kSample,
  kTrim,
  kSet,
  kExport,
  kReset,
  kPrefetch,
  kAdvise,
  kQuery,
};
inline constexpr uint8_t kLastVerb = static_cast<uint8_t>(Verb::kQuery);

enum class ObjectKind : uint8_t {
  kDevice = 1,
  kManaged,
  kPinned,
  kRegistered,
  kPoolBlock,
  kPool,
  kVmmHandle,
  kMapping,
  kReservedVa,
  kArray,
  kMipmap,
  kIpcImport,
  kExternalMemory,
  kExternalBuffer,
  kGraph,
  kGraphExec,
  kGraphNode,
  kContext,
  kPrimaryContext,
  kGreenContext,
  kModule,
  kLibrary,
  kStream,
  kEvent,
  kMulticast,
  kTexture,
  kLimit,
  kAccess,
  kProcess,
};
inline constexpr uint8_t kLastObjectKind = static_cast<uint8_t>(ObjectKind::kProcess);
constexpr uint64_t KindBit(ObjectKind kind) { return uint64_t{1} << static_cast<unsigned>(kind); }

enum class Role : uint8_t {
  kAddress = 1,
  kHandle,
  kSize,
  kPool,
  kOffset,
  kLocation,
  kLocationType,
  kNode,
  kStream,
  kEvent,
  kContext,
  kDevice,
  kGraph,
  kGraphExec,
  kModule,
  kLibrary,
  kArray,
  kFlags,
  kAttribute,
  kValue,
  kCount,
  kFd,
  kIpcHandle,
  kString,
  kLimit,
  kCapture,
  kPitch,
  kResult,
};
inline constexpr uint8_t kLastRole = static_cast<uint8_t>(Role::kResult);

enum class EntryClass : uint8_t { kRecord = 1, kObserve = 2 };
enum class ContextSource : uint8_t {
  kNone = 0,       // the call does not depend on a context
  kCurrent = 1,    // the calling thread's current context
  kParameter = 2,  // an operand of role context names it
  kDevice = 3,     // the primary context of the device that an operand names
  kOut = 4,        // the call returns it
};
enum class CaptureRule : uint8_t { kLegal = 0, kProhibited = 1, kNode = 2 };

// How the column codec predicts an operand (trace/column_model.h).
enum class Predictor : uint8_t {
  kLast = 0,   // the value that the same site had last
  kOpen = 1,   // an address or handle that comes into being
  kClose = 2,  // an address or handle that ends
};

}  // namespace gputrace::trace

#endif  // GPUTRACE_TRACE_FORMAT_H_

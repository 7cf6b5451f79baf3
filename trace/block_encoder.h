// SPDX-License-Identifier: Apache-2.0
// Frames payloads as blocks: compression, header, checksums. Allocation-free: for the traced
// process.
#ifndef GPUTRACE_TRACE_BLOCK_ENCODER_H_
#define GPUTRACE_TRACE_BLOCK_ENCODER_H_

#include <cstddef>
#include <cstdint>

#include "trace/format.h"

namespace gputrace::trace {

// Not thread-safe.
class BlockEncoder {
 public:
  // Zeroed memory that Start needs, for payloads of up to `max_payload` bytes.
  static size_t WorkspaceBytes(size_t max_payload);
  // Room that Encode needs in its output for a payload of `payload` bytes.
  static size_t MaxBlockBytes(size_t payload);

  // `workspace` must be 64-byte aligned and outlive the encoder. False if it is too small.
  bool Start(void* workspace, size_t workspace_bytes);

  struct Description {
    BlockKind kind = BlockKind::kEvents;
    BlockLayout layout = BlockLayout::kColumns;
    uint32_t records = 0;
    uint32_t lost_events = 0;
    uint64_t first_time = 0;
    uint64_t last_time = 0;
    uint64_t anchor_time = 0;
    uint64_t anchor_ns = 0;
  };
  // Writes header and stored payload to `out`; returns their size.
  size_t Encode(const Description& description, const uint8_t* payload, size_t size, uint8_t* out);
  // The block that Encode made last is in the file: only then does it take up a sequence number (an
  // index block never does) and count as a dictionary.
  void Accept();
  // For a file that has blocks already: this is its last one so far.
  void ContinueAfter(const BlockHeader& last);

 private:
  void* context_ = nullptr;  // ZSTD_CCtx inside the workspace
  uint64_t sequence_ = 0;
  uint64_t dictionary_blocks_ = 0;
  BlockKind last_kind_ = BlockKind::kEvents;
};

// Writes a file header to `out` (sizeof(FileHeader) + path + 4 bytes of room) and returns its size.
// Fills in magic, versions, header_bytes and live_path_bytes itself.
size_t EncodeFileHeader(FileHeader header, const char* live_path, size_t live_path_bytes,
                        uint8_t* out);

// Checks magic, CRC and bounds of a block header that was read from a file.
bool IsGoodBlockHeader(const BlockHeader& header);

// One line of the index block's payload, which is a varint count and then the entries.
struct IndexEntry {
  uint64_t offset = 0;
  BlockHeader header{};
};
inline constexpr size_t kMaxIndexEntryBytes = 100;
// More blocks than this are not indexed; a reader finds them by scanning.
inline constexpr uint32_t kMaxIndexEntries = 40000;
uint8_t* PutIndexEntry(uint8_t* out, const IndexEntry& entry, const IndexEntry& previous);

Trailer MakeTrailer(uint64_t index_offset, uint64_t index_bytes);

}  // namespace gputrace::trace

#endif  // GPUTRACE_TRACE_BLOCK_ENCODER_H_

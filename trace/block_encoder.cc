// SPDX-License-Identifier: Apache-2.0
#include "trace/block_encoder.h"

#include <cstddef>
#include <cstring>

#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

#include "trace/crc32.h"
#include "trace/varint.h"

namespace gputrace::trace {
namespace {

// Columns are predicted before they get here: higher levels cost time and gain next to nothing.
constexpr int kCompressionLevel = 1;

}  // namespace

size_t BlockEncoder::WorkspaceBytes(size_t max_payload) {
  const ZSTD_compressionParameters parameters = ZSTD_getCParams(kCompressionLevel, max_payload, 0);
  return ZSTD_estimateCCtxSize_usingCParams(parameters) + (64u << 10);
}

size_t BlockEncoder::MaxBlockBytes(size_t payload) {
  return sizeof(BlockHeader) + ZSTD_compressBound(payload);
}

bool BlockEncoder::Start(void* workspace, size_t workspace_bytes) {
  context_ = ZSTD_initStaticCCtx(workspace, workspace_bytes);
  sequence_ = 0;
  dictionary_blocks_ = 0;
  return context_ != nullptr;
}

size_t BlockEncoder::Encode(const Description& description, const uint8_t* payload, size_t size,
                            uint8_t* out) {
  uint8_t* const stored = out + sizeof(BlockHeader);
  auto codec = BlockCodec::kZstd;
  size_t stored_bytes =
      ZSTD_compressCCtx(static_cast<ZSTD_CCtx*>(context_), stored, ZSTD_compressBound(size),
                        payload, size, kCompressionLevel);
  if (ZSTD_isError(stored_bytes) != 0 || stored_bytes >= size) {
    codec = BlockCodec::kStored;
    stored_bytes = size;
    memcpy(stored, payload, size);
  }
  BlockHeader header{};
  memcpy(header.magic, kBlockMagic, kMagicBytes);
  header.kind = static_cast<uint8_t>(description.kind);
  header.codec = static_cast<uint8_t>(codec);
  header.layout = static_cast<uint8_t>(description.layout);
  header.stored_bytes = static_cast<uint32_t>(stored_bytes);
  header.raw_bytes = static_cast<uint32_t>(size);
  header.records = description.records;
  header.lost_events = description.lost_events;
  header.sequence = sequence_;
  header.dictionary_blocks = dictionary_blocks_;
  header.first_time = description.first_time;
  header.last_time = description.last_time;
  header.anchor_time = description.anchor_time;
  header.anchor_ns = description.anchor_ns;
  header.payload_crc32 = Crc32(stored, stored_bytes);
  header.header_crc32 = Crc32(&header, offsetof(BlockHeader, header_crc32));
  memcpy(out, &header, sizeof(header));
  last_kind_ = description.kind;
  return sizeof(header) + stored_bytes;
}

void BlockEncoder::Accept() {
  if (last_kind_ == BlockKind::kIndex) return;
  ++sequence_;
  if (last_kind_ == BlockKind::kDictionary) ++dictionary_blocks_;
}

void BlockEncoder::ContinueAfter(const BlockHeader& last) {
  sequence_ = last.sequence + 1;
  dictionary_blocks_ =
      last.dictionary_blocks + (last.kind == static_cast<uint8_t>(BlockKind::kDictionary) ? 1 : 0);
}

size_t EncodeFileHeader(FileHeader header, const char* live_path, size_t live_path_bytes,
                        uint8_t* out) {
  memcpy(header.magic, kFileMagic, kMagicBytes);
  header.version = kFormatVersion;
  header.minimum_reader = kMinimumReaderVersion;
  header.live_path_bytes = static_cast<uint16_t>(live_path_bytes);
  const size_t covered = sizeof(FileHeader) + live_path_bytes;
  header.header_bytes = static_cast<uint32_t>(covered + sizeof(uint32_t));
  memcpy(out, &header, sizeof(header));
  memcpy(out + sizeof(header), live_path, live_path_bytes);
  const uint32_t crc = Crc32(out, covered);
  memcpy(out + covered, &crc, sizeof(crc));
  return header.header_bytes;
}

bool IsGoodBlockHeader(const BlockHeader& header) {
  return memcmp(header.magic, kBlockMagic, kMagicBytes) == 0 &&
         header.header_crc32 == Crc32(&header, offsetof(BlockHeader, header_crc32)) &&
         header.stored_bytes <= kMaxBlockStoredBytes && header.raw_bytes <= kMaxBlockRawBytes;
}

uint8_t* PutIndexEntry(uint8_t* out, const IndexEntry& entry, const IndexEntry& previous) {
  const BlockHeader& header = entry.header;
  uint8_t* at = PutVarint(out, entry.offset - previous.offset);
  *at++ = header.kind;
  at = PutVarint(at, header.stored_bytes);
  at = PutVarint(at, header.records);
  at = PutVarint(at, header.dictionary_blocks);
  at = PutVarint(at, header.first_time);
  at = PutVarint(at, header.last_time);
  at = PutVarint(at, header.anchor_time);
  at = PutVarint(at, header.anchor_ns);
  return at;
}

Trailer MakeTrailer(uint64_t index_offset, uint64_t index_bytes) {
  Trailer trailer{};
  trailer.index_offset = index_offset;
  trailer.index_bytes = index_bytes;
  trailer.crc32 = Crc32(&trailer, offsetof(Trailer, crc32));
  memcpy(trailer.magic, kTrailerMagic, kMagicBytes);
  return trailer;
}

}  // namespace gputrace::trace

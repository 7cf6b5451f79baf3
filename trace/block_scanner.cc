// SPDX-License-Identifier: Apache-2.0
#include "trace/block_scanner.h"

#include <zstd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "absl/strings/str_format.h"
#include "trace/block_encoder.h"
#include "trace/crc32.h"
#include "trace/varint.h"

namespace gputrace::trace {
namespace {

constexpr size_t kSearchBytes = 1u << 20;

uint64_t BlockBytes(const BlockHeader& header) { return sizeof(BlockHeader) + header.stored_bytes; }

bool ReadHeader(const InputFile& file, uint64_t offset, BlockHeader* header) {
  return file.ReadExactly(offset, header, sizeof(*header)) && IsGoodBlockHeader(*header);
}

// The offset of the next block magic at or after `offset`, or the file's size.
uint64_t FindMagic(const InputFile& file, uint64_t offset) {
  std::vector<char> buffer(kSearchBytes);
  const std::string_view magic(kBlockMagic, kMagicBytes);
  while (offset < file.size()) {
    const size_t n = file.Read(offset, buffer.data(), buffer.size());
    const size_t found = std::string_view(buffer.data(), n).find(magic);
    if (found != std::string_view::npos) return offset + found;
    if (n < buffer.size()) break;
    offset += n - (kMagicBytes - 1);
  }
  return file.size();
}

bool IsTrailerAt(const InputFile& file, uint64_t offset, Trailer* trailer) {
  return file.ReadExactly(offset, trailer, sizeof(*trailer)) &&
         memcmp(trailer->magic, kTrailerMagic, kMagicBytes) == 0 &&
         trailer->crc32 == Crc32(trailer, offsetof(Trailer, crc32));
}

// One line of the index is enough to find a block; the rest of its header is read from the block.
bool ParseIndex(const InputFile& file, const std::vector<uint8_t>& payload,
                std::vector<BlockInfo>* blocks) {
  const uint8_t* at = payload.data();
  const uint8_t* const end = at + payload.size();
  uint64_t count = 0;
  at = GetVarint(at, end, &count);
  if (at == nullptr || count > kMaxIndexEntries) return false;
  uint64_t offset = 0;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t step = 0;
    at = GetVarint(at, end, &step);
    if (at == nullptr || at == end) return false;
    ++at;  // kind
    for (int field = 0; field < 7 && at != nullptr; ++field) {
      uint64_t ignored = 0;
      at = GetVarint(at, end, &ignored);
    }
    if (at == nullptr) return false;
    offset += step;
    BlockInfo block{offset, {}};
    if (!ReadHeader(file, offset, &block.header)) return false;
    blocks->push_back(block);
  }
  return true;
}

bool ScanByIndex(const InputFile& file, ScanResult* result) {
  Trailer trailer;
  if (file.size() < sizeof(Trailer) ||
      !IsTrailerAt(file, file.size() - sizeof(Trailer), &trailer)) {
    return false;
  }
  BlockInfo index{trailer.index_offset, {}};
  if (!ReadHeader(file, index.offset, &index.header) ||
      index.header.kind != static_cast<uint8_t>(BlockKind::kIndex) ||
      index.offset + BlockBytes(index.header) + sizeof(Trailer) != file.size()) {
    return false;
  }
  std::vector<uint8_t> scratch;
  std::vector<uint8_t> payload;
  if (!ReadPayload(file, index, &scratch, &payload).ok()) return false;
  if (!ParseIndex(file, payload, &result->blocks)) {
    result->blocks.clear();
    return false;
  }
  result->indexed = true;
  result->good_bytes = file.size();
  return true;
}

void ScanByWalking(const InputFile& file, uint64_t offset, ScanResult* result) {
  result->good_bytes = offset;
  while (offset < file.size()) {
    BlockInfo block{offset, {}};
    Trailer trailer;
    if (ReadHeader(file, offset, &block.header) &&
        BlockBytes(block.header) <= file.size() - offset) {
      if (block.header.kind != static_cast<uint8_t>(BlockKind::kIndex)) {
        result->blocks.push_back(block);
      }
      offset += BlockBytes(block.header);
      result->good_bytes = offset;
    } else if (IsTrailerAt(file, offset, &trailer)) {
      offset += sizeof(Trailer);
      result->good_bytes = offset;
    } else {
      const uint64_t next = FindMagic(file, offset + 1);
      result->damaged_bytes += next - offset;
      offset = next;
    }
  }
}

// Blocks other than the index are numbered, so that one that is gone leaves a gap.
void CountGaps(ScanResult* result) {
  uint64_t expected = 0;
  uint64_t dictionaries = 0;
  for (const BlockInfo& block : result->blocks) {
    if (block.header.sequence > expected) result->lost_blocks += block.header.sequence - expected;
    expected = block.header.sequence + 1;
    if (block.header.dictionary_blocks > dictionaries) {
      result->lost_dictionaries += block.header.dictionary_blocks - dictionaries;
      dictionaries = block.header.dictionary_blocks;
    }
    if (block.header.kind == static_cast<uint8_t>(BlockKind::kDictionary)) ++dictionaries;
  }
}

}  // namespace

absl::StatusOr<FileStart> ReadFileStart(const InputFile& file, const std::string& path) {
  if (file.size() == 0) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s: empty file (the traced process could not write, or died before its first call)",
        path));
  }
  FileStart start;
  FileHeader& header = start.header;
  const size_t n = file.Read(0, &header, sizeof(header));
  if (n < kMagicBytes || memcmp(header.magic, kFileMagic, kMagicBytes) != 0) {
    return absl::InvalidArgumentError(absl::StrFormat("%s: not a gputrace trace", path));
  }
  if (n >= offsetof(FileHeader, header_bytes) && header.minimum_reader > kFormatVersion) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s: written by a newer gputrace (format %d; needs a reader of format %d, this one is %d): "
        "update gputrace",
        path, header.version, header.minimum_reader, kFormatVersion));
  }
  start.live_path.resize(n == sizeof(header) ? header.live_path_bytes : 0);
  uint32_t crc = 0;
  if (n < sizeof(header) ||
      !file.ReadExactly(sizeof(header), start.live_path.data(), start.live_path.size()) ||
      !file.ReadExactly(sizeof(header) + start.live_path.size(), &crc, sizeof(crc))) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s: cut off inside its header after %d bytes: nothing can be read from it",
                        path, file.size()));
  }
  const uint32_t expected =
      Crc32(start.live_path.data(), start.live_path.size(), Crc32(&header, sizeof(header)));
  if (crc != expected || header.header_bytes < sizeof(header) || header.time_shift > 32) {
    return absl::InvalidArgumentError(absl::StrFormat("%s: its header is damaged", path));
  }
  return start;
}

ScanResult ScanBlocks(const InputFile& file, const FileStart& start) {
  ScanResult result;
  if (!ScanByIndex(file, &result)) ScanByWalking(file, start.header.header_bytes, &result);
  CountGaps(&result);
  return result;
}

absl::Status ReadPayload(const InputFile& file, const BlockInfo& block,
                         std::vector<uint8_t>* scratch, std::vector<uint8_t>* payload) {
  const BlockHeader& header = block.header;
  scratch->resize(header.stored_bytes);
  if (!file.ReadExactly(block.offset + sizeof(BlockHeader), scratch->data(), scratch->size())) {
    return absl::DataLossError("block is cut off");
  }
  if (Crc32(scratch->data(), scratch->size()) != header.payload_crc32) {
    return absl::DataLossError("block's checksum does not match");
  }
  if (header.codec == static_cast<uint8_t>(BlockCodec::kStored)) {
    std::swap(*scratch, *payload);
    return absl::OkStatus();
  }
  if (header.codec != static_cast<uint8_t>(BlockCodec::kZstd)) {
    return absl::DataLossError(absl::StrFormat("block has unknown codec %d", header.codec));
  }
  payload->resize(header.raw_bytes);
  const size_t n =
      ZSTD_decompress(payload->data(), payload->size(), scratch->data(), scratch->size());
  if (ZSTD_isError(n) != 0 || n != header.raw_bytes) {
    return absl::DataLossError("block does not decompress");
  }
  return absl::OkStatus();
}

}  // namespace gputrace::trace

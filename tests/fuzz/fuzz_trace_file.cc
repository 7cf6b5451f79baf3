// SPDX-License-Identifier: Apache-2.0
// Whole files, rings included: the first two bytes of the input say where the trace ends and the
// rings begin. Checksums are mended, so that damage gets past them.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>

#include "trace/crc32.h"
#include "trace/live.h"
#include "trace/reader.h"

namespace {

using namespace gputrace::trace;

template <typename T>
T At(const std::string& bytes, size_t offset) {
  T value;
  memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

void Mend(std::string* bytes) {
  if (bytes->size() < sizeof(FileHeader) + 4) return;
  memcpy(bytes->data(), kFileMagic, kMagicBytes);
  const size_t path = At<uint16_t>(*bytes, offsetof(FileHeader, live_path_bytes));
  if (bytes->size() < sizeof(FileHeader) + path + 4) return;
  const uint32_t crc = Crc32(bytes->data(), sizeof(FileHeader) + path);
  memcpy(bytes->data() + sizeof(FileHeader) + path, &crc, 4);
  const std::string magic(kBlockMagic, kMagicBytes);
  for (size_t at = bytes->find(magic); at != std::string::npos; at = bytes->find(magic, at + 1)) {
    if (at + sizeof(BlockHeader) > bytes->size()) return;
    const size_t stored = At<uint32_t>(*bytes, at + offsetof(BlockHeader, stored_bytes));
    const size_t payload = at + sizeof(BlockHeader);
    if (stored <= bytes->size() - payload) {
      const uint32_t payload_crc = Crc32(bytes->data() + payload, stored);
      memcpy(bytes->data() + at + offsetof(BlockHeader, payload_crc32), &payload_crc, 4);
    }
    const uint32_t header_crc = Crc32(bytes->data() + at, offsetof(BlockHeader, header_crc32));
    memcpy(bytes->data() + at + offsetof(BlockHeader, header_crc32), &header_crc, 4);
  }
}

void MendRings(std::string* bytes, const std::string& trace) {
  if (bytes->size() < sizeof(LiveHeader) || trace.size() < sizeof(FileHeader)) return;
  memcpy(bytes->data(), kLiveMagic, kMagicBytes);
  memcpy(bytes->data() + offsetof(LiveHeader, version), &kLiveVersion, sizeof(kLiveVersion));
  memcpy(bytes->data() + offsetof(LiveHeader, trace_id),
         trace.data() + offsetof(FileHeader, trace_id), 16);
  const uint32_t ring_bytes = 4096;
  memcpy(bytes->data() + offsetof(LiveHeader, ring_bytes), &ring_bytes, 4);
  const uint32_t crc = Crc32(bytes->data() + offsetof(LiveHeader, trace_id),
                             offsetof(LiveHeader, rings) - offsetof(LiveHeader, trace_id));
  memcpy(bytes->data() + offsetof(LiveHeader, header_crc32), &crc, 4);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const size_t cut = std::min<size_t>(size - 2, size_t{data[0]} << 8 | data[1]);
  std::string trace(reinterpret_cast<const char*>(data) + 2, cut);
  std::string rings(reinterpret_cast<const char*>(data) + 2 + cut, size - 2 - cut);
  Mend(&trace);
  MendRings(&rings, trace);
  static const std::string path = "/tmp/gputrace-fuzz-" + std::to_string(getpid());
  std::ofstream(path, std::ios::binary | std::ios::trunc) << trace;
  std::ofstream(path + ".live", std::ios::binary | std::ios::trunc) << rings;
  absl::StatusOr<std::unique_ptr<Reader>> reader = Reader::Open(path);
  if (reader.ok()) (*reader)->ForEach([](const Record&) {}).IgnoreError();
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Finds the blocks of a trace file: through its index if it has one, else by walking from header to
// header, looking for the next good one wherever the file is damaged.
#ifndef GPUTRACE_TRACE_BLOCK_SCANNER_H_
#define GPUTRACE_TRACE_BLOCK_SCANNER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trace/file_io.h"
#include "trace/reader.h"

namespace gputrace::trace {

struct FileStart {
  FileHeader header{};
  std::string live_path;
};

// kInvalidArgument, with one sentence that says what is wrong, for what is not a trace of ours.
absl::StatusOr<FileStart> ReadFileStart(const InputFile& file, const std::string& path);

struct ScanResult {
  std::vector<BlockInfo> blocks;  // good headers; payloads are not read
  bool indexed = false;           // found through the index
  uint64_t damaged_bytes = 0;
  uint64_t lost_blocks = 0;        // gaps in the sequence
  uint64_t lost_dictionaries = 0;  // of which dictionary blocks
  uint64_t good_bytes = 0;         // where the last good block ends
};
ScanResult ScanBlocks(const InputFile& file, const FileStart& start);

// Reads and checks a block's payload, decompressed. kDataLoss if it is not what its header says.
absl::Status ReadPayload(const InputFile& file, const BlockInfo& block,
                         std::vector<uint8_t>* scratch, std::vector<uint8_t>* payload);

}  // namespace gputrace::trace

#endif  // GPUTRACE_TRACE_BLOCK_SCANNER_H_

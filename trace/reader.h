// SPDX-License-Identifier: Apache-2.0
// Reads a .gputrace file, whole or damaged, finished or left behind by a killed process.
#ifndef GPUTRACE_TRACE_READER_H_
#define GPUTRACE_TRACE_READER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trace/dictionary.h"
#include "trace/record.h"

namespace gputrace::trace {

struct ReaderOptions {
  // Where the rings of a killed process are, if not where the trace says (a copied trace).
  std::string live_path;
};

enum class Ended : uint8_t { kExit, kKilled, kExec, kRunning };

// How much of what happened the file holds. Filled by Open; damage inside blocks is found by
// reading.
struct Health {
  bool complete = true;  // nothing lost, nothing damaged
  Ended ended = Ended::kKilled;
  bool live_folded = false;   // records came out of the rings' file
  bool live_missing = false;  // the rings' file is named but is not there
  bool index_rebuilt = false;
  uint64_t lost_events = 0;       // that the tracer itself could not keep
  uint64_t damaged_bytes = 0;     // skipped while looking for the next good block
  uint64_t lost_blocks = 0;       // gaps in the blocks' sequence, and blocks that would not decode
  uint64_t lost_definitions = 0;  // dictionary blocks missing: stacks and names may be unknown
  uint64_t truncated_stacks = 0;
  uint64_t uncertain_calls = 0;      // in flight when the process died
  std::vector<std::string> reasons;  // one sentence each, for people
};

struct BlockInfo {
  uint64_t offset = 0;  // of the block's header in the file
  BlockHeader header{};
};

class Reader {
 public:
  // Fails with kInvalidArgument (not a trace, empty, a newer format) or kNotFound /
  // kPermissionDenied (the file cannot be read). A damaged trace opens; health() says what is
  // missing.
  static absl::StatusOr<std::unique_ptr<Reader>> Open(const std::string& path,
                                                      const ReaderOptions& options = {});
  virtual ~Reader() = default;

  virtual const std::string& path() const = 0;
  virtual const FileHeader& header() const = 0;
  virtual const Dictionary& dictionary() const = 0;
  virtual const Health& health() const = 0;
  // All good blocks in file order, dictionary blocks too.
  virtual const std::vector<BlockInfo>& blocks() const = 0;
  // Bytes of the trace file itself, rings not counted.
  virtual uint64_t file_bytes() const = 0;

  // Calls `visit` for each record in order of time, those from the rings last. May be called again.
  // Memory: one block. Not thread-safe; open several readers to work in parallel.
  virtual absl::Status ForEach(absl::FunctionRef<void(const Record&)> visit) = 0;
  // The records of one event or base-state block, for readers that work in parallel. The block's
  // index is into blocks().
  virtual absl::Status ReadBlock(size_t index, absl::FunctionRef<void(const Record&)> visit) = 0;
  // The records that came out of the rings' file: they follow those of the last block.
  virtual absl::Status ReadRings(absl::FunctionRef<void(const Record&)> visit) = 0;
};

}  // namespace gputrace::trace

#endif  // GPUTRACE_TRACE_READER_H_

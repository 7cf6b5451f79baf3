// SPDX-License-Identifier: Apache-2.0
// Takes out of a rings' file what the process recorded and its writer had not yet written.
#ifndef GPUTRACE_TRACE_LIVE_READER_H_
#define GPUTRACE_TRACE_LIVE_READER_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "trace/column_encoder.h"
#include "trace/column_model.h"
#include "trace/dictionary_builder.h"
#include "trace/format.h"
#include "trace/live.h"

namespace gputrace::trace {

struct LiveRing {
  uint32_t ring_id = 0;
  uint32_t tid = 0;
  uint32_t thread = 0;
  std::string name;
  uint64_t tail = 0;  // position of data[0]
  uint64_t in_call = 0;
  uint64_t lost = 0;  // not yet reported in the trace
  std::vector<uint64_t> data;
};

struct LiveContents {
  uint32_t pid = 0;
  uint64_t process_start_time = 0;
  bool ended = false;
  uint64_t lost_without_ring = 0;  // not yet reported in the trace
  std::vector<LiveRing> rings;
};

// Copies the rings. Safe beside a running process: a ring that was recycled meanwhile is left out
// (its records are in the trace), and so the trace's blocks must be scanned after this.
// kInvalidArgument if the file is not the rings' file of the trace with this id.
absl::StatusOr<LiveContents> ReadLive(const std::string& path, const uint8_t trace_id[16]);

// A record out of a ring; its operands are in LiveRecords::operands.
struct LiveRecord {
  PackedRecord record;
  uint64_t ticks = 0;
  uint64_t first_operand = 0;
};
struct LiveRecords {
  std::vector<LiveRecord> records;  // in order of time
  std::vector<uint64_t> operands;
  uint64_t uncertain =
      0;                 // calls in flight; their intents are flagged if they are among the records
  uint64_t damaged = 0;  // rings whose content made no sense from some point on
};

// Decodes the rings beyond what `written` (by ring id: end of what the trace's blocks hold) says is
// in the trace already, and adds the definitions they carry to the dictionary.
LiveRecords FoldLive(const LiveContents& live, const FileHeader& header, bool process_is_gone,
                     const absl::flat_hash_map<uint32_t, uint64_t>& written,
                     const Dictionary& dictionary, DictionaryBuilder* builder);

}  // namespace gputrace::trace

#endif  // GPUTRACE_TRACE_LIVE_READER_H_

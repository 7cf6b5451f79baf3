// SPDX-License-Identifier: Apache-2.0
// Makes trace files and rings' files for tests, with the same encoders that the tracer uses.
#ifndef GPUTRACE_TESTS_UNIT_TRACE_TRACE_WRITER_H_
#define GPUTRACE_TESTS_UNIT_TRACE_TRACE_WRITER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trace/block_encoder.h"
#include "trace/column_encoder.h"
#include "trace/dictionary_encoder.h"
#include "trace/live.h"

namespace gputrace::trace {

inline Bytes BytesOf(std::string_view text) { return {text.data(), text.size()}; }

// One record with operands of its own, for building and comparing.
struct TestRecord {
  PackedRecord record;
  std::vector<uint64_t> operands;
};

class TraceWriter {
 public:
  // `live_path` goes into the header.
  explicit TraceWriter(std::string live_path = "");

  DictionaryEncoder& dictionary() { return dictionary_; }
  void FlushDictionary();
  // Adds a block of events; all must fit one block.
  void AddEvents(const std::vector<TestRecord>& records, const std::vector<RingRange>& ranges = {},
                 uint32_t lost_events = 0);
  // The end record, the index and the trailer.
  void Finish(uint64_t end_time);

  const std::string& bytes() const { return bytes_; }
  const std::vector<size_t>& block_offsets() const { return offsets_; }
  void WriteTo(const std::string& path) const;

  // Entry 1 is an allocation (in size; out address), entry 2 a free (in address; intent).
  static const std::vector<EntryHints>& Hints();
  void DefineEntries();

  FileHeader header{};

 private:
  void AddBlock(BlockEncoder::Description description, const uint8_t* payload, size_t size);

  std::string bytes_;
  std::vector<size_t> offsets_;
  std::vector<uint8_t> workspace_;
  BlockEncoder blocks_;
  std::vector<uint8_t> dictionary_buffer_;
  DictionaryEncoder dictionary_;
  std::unique_ptr<ColumnEncoder> columns_;
};

// A rings' file with one ring that holds `words` from position `tail` on.
struct LiveRingSpec {
  uint32_t ring_id = 1;
  uint32_t thread = 1;
  uint32_t tid = 77;
  uint64_t tail = 0;
  uint64_t in_call = 0;
  uint64_t lost = 0;
  std::vector<uint64_t> words;
};
void WriteLiveFile(const std::string& path, const FileHeader& header,
                   const std::vector<LiveRingSpec>& rings, uint32_t ring_bytes = 65536,
                   uint64_t lost_without_ring = 0);
// Appends a record to a ring's content.
void AppendRingRecord(std::vector<uint64_t>* words, RingRecord record,
                      const std::vector<uint64_t>& operands);

std::string TemporaryPath(const std::string& name);

}  // namespace gputrace::trace

#endif  // GPUTRACE_TESTS_UNIT_TRACE_TRACE_WRITER_H_

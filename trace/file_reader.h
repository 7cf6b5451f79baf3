// SPDX-License-Identifier: Apache-2.0
// The reader behind Reader::Open, with what only this directory may see of it.
#ifndef GPUTRACE_TRACE_FILE_READER_H_
#define GPUTRACE_TRACE_FILE_READER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "trace/block_scanner.h"
#include "trace/clock_map.h"
#include "trace/column_decoder.h"
#include "trace/dictionary_builder.h"
#include "trace/file_io.h"
#include "trace/live_reader.h"
#include "trace/reader.h"

namespace gputrace::trace {

class FileReader final : public Reader {
 public:
  FileReader(std::string path, InputFile file, FileStart start)
      : path_(std::move(path)),
        file_(std::move(file)),
        start_(std::move(start)),
        clock_(start_.header) {}

  // `live` must have been read before this is called: see ReadLive.
  void Load(std::optional<LiveContents> live, const std::string& live_path);

  const std::string& path() const override { return path_; }
  const FileHeader& header() const override { return start_.header; }
  const Dictionary& dictionary() const override { return dictionary_; }
  const Health& health() const override { return health_; }
  const std::vector<BlockInfo>& blocks() const override { return blocks_; }
  uint64_t file_bytes() const override { return file_.size(); }

  absl::Status ForEach(absl::FunctionRef<void(const Record&)> visit) override;
  absl::Status ReadBlock(size_t index, absl::FunctionRef<void(const Record&)> visit) override;
  absl::Status ReadRings(absl::FunctionRef<void(const Record&)> visit) override;

  // For repair, which writes what it finds in the rings into the file.
  const InputFile& file() const { return file_; }
  const LiveRecords& live_records() const { return live_; }
  bool has_live() const { return has_live_; }
  const std::string& live_path() const { return live_path_; }
  // How many definitions the file itself has: what is beyond came out of the rings.
  struct Counts {
    uint32_t stacks = 0;
    uint32_t python_stacks = 0;
    uint32_t code_objects = 0;
    uint32_t strings = 0;
  };
  const Counts& counts_in_file() const { return counts_; }

 private:
  void LoadBlocks();
  void LoadDictionary(DictionaryBuilder* builder);
  void FoldRings(const LiveContents& live, DictionaryBuilder* builder);
  absl::flat_hash_map<uint32_t, uint64_t> RingEnds(const LiveContents& live);
  void Judge(bool have_live, bool live_expected);
  Record Unpack(const PackedRecord& packed) const;
  void NoteLostBlock(size_t index, const absl::Status& status);

  std::string path_;
  InputFile file_;
  FileStart start_;
  ClockMap clock_;
  Dictionary dictionary_;
  Health health_;
  std::vector<BlockInfo> blocks_;
  std::vector<bool> block_is_lost_;
  LiveRecords live_;
  bool has_live_ = false;
  std::string live_path_;
  Counts counts_;
  ColumnDecoder decoder_;
  std::vector<uint8_t> scratch_;
  std::vector<uint8_t> payload_;
};

// As Reader::Open.
absl::StatusOr<std::unique_ptr<FileReader>> OpenFile(const std::string& path,
                                                     const ReaderOptions& options);

}  // namespace gputrace::trace

#endif  // GPUTRACE_TRACE_FILE_READER_H_

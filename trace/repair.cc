// SPDX-License-Identifier: Apache-2.0
#include "trace/repair.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "trace/block_encoder.h"
#include "trace/column_encoder.h"
#include "trace/dictionary_encoder.h"
#include "trace/file_reader.h"
#include "trace/varint.h"

namespace gputrace::trace {
namespace {

Bytes View(std::string_view text) { return {text.data(), text.size()}; }

// Writes a new trace file. The first error sticks.
class Output {
 public:
  explicit Output(const std::string& path)
      : path_(path), fd_(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)) {
    if (fd_ < 0) Fail();
  }
  ~Output() {
    if (fd_ >= 0) close(fd_);
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void Write(const void* data, size_t size) {
    const auto* bytes = static_cast<const char*>(data);
    while (size > 0 && status_.ok()) {
      const ssize_t n = write(fd_, bytes, size);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return Fail();
      bytes += n;
      size -= static_cast<size_t>(n);
      written_ += static_cast<uint64_t>(n);
    }
  }
  absl::Status Close() {
    if (status_.ok() && fsync(fd_) != 0) Fail();
    return status_;
  }
  uint64_t written() const { return written_; }
  bool ok() const { return status_.ok(); }

 private:
  void Fail() {
    status_ = absl::UnavailableError(absl::StrFormat("%s: %s", path_, strerror(errno)));
  }

  std::string path_;
  int fd_;
  uint64_t written_ = 0;
  absl::Status status_;
};

class Repairer {
 public:
  Repairer(const FileReader& reader, Output* out)
      : reader_(reader),
        out_(*out),
        workspace_(BlockEncoder::WorkspaceBytes(kMaxBlockRawBytes) + 64),
        dictionary_buffer_(kMaxBlockRawBytes / 2),
        block_(BlockEncoder::MaxBlockBytes(kMaxBlockRawBytes)),
        columns_(std::make_unique<ColumnEncoder>()) {
    void* start = workspace_.data();
    size_t room = workspace_.size();
    std::align(64, room - 64, start, room);
    blocks_.Start(start, room);
    dictionary_.Start(dictionary_buffer_.data(), dictionary_buffer_.size());
  }

  // Copies the header and all blocks whose payload is good.
  uint64_t CopyGoodBlocks() {
    std::vector<uint8_t> bytes(reader_.header().header_bytes);
    reader_.file().ReadExactly(0, bytes.data(), bytes.size());
    out_.Write(bytes.data(), bytes.size());
    uint64_t copied = bytes.size();
    std::vector<uint8_t> scratch;
    std::vector<uint8_t> payload;
    for (const BlockInfo& block : reader_.blocks()) {
      bytes.resize(sizeof(BlockHeader) + block.header.stored_bytes);
      if (!ReadPayload(reader_.file(), block, &scratch, &payload).ok() ||
          !reader_.file().ReadExactly(block.offset, bytes.data(), bytes.size())) {
        continue;
      }
      index_.push_back({out_.written(), block.header});
      out_.Write(bytes.data(), bytes.size());
      copied += bytes.size();
      blocks_.ContinueAfter(block.header);
    }
    return copied;
  }

  void WriteDefinitions() {
    const Dictionary& d = reader_.dictionary();
    const FileReader::Counts& known = reader_.counts_in_file();
    for (uint32_t id = known.strings + 1; id <= d.string_count(); ++id) {
      Add([&] { return dictionary_.AddString(id, View(d.string(id))); });
    }
    for (uint32_t id = known.code_objects + 1; id <= d.code_object_count(); ++id) {
      const CodeObject& code = d.code_object(id);
      Add([&] {
        return dictionary_.AddCodeObject({id, code.hash, View(code.qualified_name), View(code.file),
                                          code.first_line, code.python_version,
                                          View(code.line_table)});
      });
    }
    for (uint32_t id = known.stacks + 1; id <= d.stack_count(); ++id) {
      const Stack stack = d.stack(id);
      Add([&] {
        return dictionary_.AddStack({id, stack.hash, stack.epoch, stack.truncated, stack.pcs.data(),
                                     static_cast<uint32_t>(stack.pcs.size())});
      });
    }
    for (uint32_t id = known.python_stacks + 1; id <= d.python_stack_count(); ++id) {
      WritePythonStack(id);
    }
    WriteSmallDefinitions();
  }

  void WriteLiveRecords() {
    const std::vector<EntryHints> hints = MakeHints(reader_.dictionary());
    const LiveRecords& live = reader_.live_records();
    columns_->Start(hints.data(), static_cast<uint32_t>(hints.size()));
    for (const LiveRecord& item : live.records) {
      PackedRecord record = item.record;
      record.operands = live.operands.data() + item.first_operand;
      if (!columns_->Add(record)) {
        FlushEvents();
        columns_->Add(record);
      }
      last_time_ = record.time;
    }
    FlushEvents();
  }

  void WriteEnd() {
    if (reader_.dictionary().end().has_value()) return;
    const EndReason reason =
        reader_.health().ended == Ended::kExec ? EndReason::kExec : EndReason::kKilled;
    for (const BlockInfo& block : reader_.blocks()) {
      last_time_ = std::max(last_time_, block.header.last_time);
    }
    Add([&] { return dictionary_.AddEnd(reason, last_time_); });
    FlushDictionary();
  }

  bool WriteIndex() {
    if (index_.size() > kMaxIndexEntries) return false;
    std::vector<uint8_t> payload(kMaxVarintBytes + index_.size() * kMaxIndexEntryBytes);
    uint8_t* at = PutVarint(payload.data(), index_.size());
    IndexEntry previous;
    for (const IndexEntry& entry : index_) {
      at = PutIndexEntry(at, entry, previous);
      previous = entry;
    }
    BlockEncoder::Description description;
    description.kind = BlockKind::kIndex;
    description.layout = BlockLayout::kTlv;
    description.records = static_cast<uint32_t>(index_.size());
    const uint64_t offset = out_.written();
    WriteBlock(description, payload.data(), static_cast<size_t>(at - payload.data()));
    const Trailer trailer = MakeTrailer(offset, out_.written() - offset);
    out_.Write(&trailer, sizeof(trailer));
    return true;
  }

 private:
  template <typename Function>
  void Add(Function add) {
    if (add()) return;
    FlushDictionary();
    add();
  }

  void WritePythonStack(uint32_t id) {
    const PythonStack& stack = reader_.dictionary().python_stack(id);
    std::vector<uint64_t> frames;
    for (const PythonFrame& frame : stack.frames) {
      frames.push_back(frame.code_object);
      frames.push_back(static_cast<uint64_t>(frame.instruction + 1));
    }
    Add([&] {
      return dictionary_.AddPythonStack({id, stack.hash, stack.truncated, frames.data(),
                                         static_cast<uint32_t>(stack.frames.size())});
    });
  }

  // Few, and harmless to define twice.
  void WriteSmallDefinitions() {
    const Dictionary& d = reader_.dictionary();
    for (const Module& m : d.modules()) {
      const std::string build_id = FromHex(m.build_id);
      Add([&] {
        return dictionary_.AddModule(
            {m.id, View(m.path), View(build_id), m.start, m.end, m.bias, m.load_epoch});
      });
      if (m.unload_epoch != 0)
        Add([&] { return dictionary_.AddModuleUnload(m.id, m.unload_epoch); });
    }
    for (const Thread& t : d.threads()) {
      if (t.id != 0) Add([&] { return dictionary_.AddThread(t.id, t.tid, View(t.name)); });
    }
    for (const Context& c : d.contexts()) {
      if (c.id != 0) Add([&] { return dictionary_.AddContext(c.id, c.handle, c.device); });
    }
    for (const Device& device : d.devices()) {
      std::string uuid = FromHex(device.uuid.empty() ? "" : device.uuid.substr(4));
      uuid.resize(16);
      Add([&] {
        return dictionary_.AddDevice(device.ordinal, View(device.name),
                                     reinterpret_cast<const uint8_t*>(uuid.data()),
                                     device.total_bytes);
      });
    }
    for (const auto& [key, value] : d.facts()) {
      Add([&] { return dictionary_.AddFact(View(key), View(value)); });
    }
    FlushDictionary();
  }

  // The bytes of a hexadecimal text; dashes are skipped.
  static std::string FromHex(std::string_view text) {
    std::string digits;
    for (const char c : text) {
      if (c != '-') digits.push_back(c);
    }
    std::string bytes;
    for (size_t i = 0; i + 1 < digits.size(); i += 2) {
      bytes.push_back(static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16)));
    }
    return bytes;
  }

  void FlushDictionary() {
    if (dictionary_.records() == 0) return;
    BlockEncoder::Description description;
    description.kind = BlockKind::kDictionary;
    description.layout = BlockLayout::kTlv;
    description.records = dictionary_.records();
    WriteBlock(description, dictionary_.data(), dictionary_.size());
    dictionary_.Clear();
  }

  void FlushEvents() {
    if (columns_->empty()) return;
    std::vector<uint8_t> payload(ColumnEncoder::kMaxPayloadBytes);
    const size_t size = columns_->Finish(nullptr, 0, payload.data());
    BlockEncoder::Description description;
    description.records = columns_->records();
    description.first_time = columns_->first_time();
    description.last_time = columns_->last_time();
    WriteBlock(description, payload.data(), size);
    columns_->Restart();
  }

  void WriteBlock(const BlockEncoder::Description& description, const uint8_t* payload,
                  size_t size) {
    const size_t stored = blocks_.Encode(description, payload, size, block_.data());
    if (description.kind != BlockKind::kIndex) {
      IndexEntry entry{out_.written(), {}};
      memcpy(&entry.header, block_.data(), sizeof(entry.header));
      index_.push_back(entry);
    }
    out_.Write(block_.data(), stored);
    blocks_.Accept();
  }

  const FileReader& reader_;
  Output& out_;
  std::vector<uint8_t> workspace_;
  std::vector<uint8_t> dictionary_buffer_;
  std::vector<uint8_t> block_;
  BlockEncoder blocks_;
  DictionaryEncoder dictionary_;
  std::unique_ptr<ColumnEncoder> columns_;
  std::vector<IndexEntry> index_;
  uint64_t last_time_ = 0;
};

bool IsWhole(const FileReader& reader) {
  const Health& health = reader.health();
  return !health.index_rebuilt && !reader.has_live() && reader.dictionary().end().has_value() &&
         health.damaged_bytes == 0;
}

}  // namespace

absl::StatusOr<RepairResult> Repair(const std::string& path, const std::string& output) {
  absl::StatusOr<std::unique_ptr<FileReader>> reader = OpenFile(path, {});
  if (!reader.ok()) return reader.status();
  if ((*reader)->health().ended == Ended::kRunning) {
    return absl::FailedPreconditionError(
        absl::StrFormat("%s: the traced process still runs: repair it when that has ended", path));
  }
  RepairResult result;
  if (output.empty() && IsWhole(**reader)) return result;
  const std::string target = output.empty() ? absl::StrCat(path, ".repaired") : output;
  Output out(target);
  Repairer repairer(**reader, &out);
  const uint64_t copied = repairer.CopyGoodBlocks();
  result.bytes_dropped = (*reader)->health().damaged_bytes;
  if ((*reader)->has_live()) repairer.WriteDefinitions();
  repairer.WriteLiveRecords();
  repairer.WriteEnd();
  result.index_written = repairer.WriteIndex();
  result.records_folded = (*reader)->live_records().records.size();
  result.changed = copied > 0;
  if (absl::Status status = out.Close(); !status.ok()) {
    unlink(target.c_str());
    return status;
  }
  if (!output.empty()) return result;
  if (rename(target.c_str(), path.c_str()) != 0) {
    const absl::Status status = absl::UnavailableError(absl::StrFormat(
        "cannot replace %s: %s; the repaired trace is %s", path, strerror(errno), target));
    return status;
  }
  if ((*reader)->has_live()) {
    result.live_removed = unlink((*reader)->live_path().c_str()) == 0;
  }
  return result;
}

}  // namespace gputrace::trace

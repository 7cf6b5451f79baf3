// SPDX-License-Identifier: Apache-2.0
#include "trace/reader.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "trace/file_reader.h"
#include "trace/process_state.h"

namespace gputrace::trace {
namespace {

bool IsTimeline(const BlockHeader& header) {
  return header.layout == static_cast<uint8_t>(BlockLayout::kColumns) &&
         (header.kind == static_cast<uint8_t>(BlockKind::kEvents) ||
          header.kind == static_cast<uint8_t>(BlockKind::kBaseState));
}

Ended EndedBy(EndReason reason) {
  switch (reason) {
    case EndReason::kExit:
      return Ended::kExit;
    case EndReason::kExec:
      return Ended::kExec;
    case EndReason::kKilled:
      break;
  }
  return Ended::kKilled;
}

std::string BootIdOf(const FileHeader& header) {
  return std::string(header.boot_id, strnlen(header.boot_id, sizeof(header.boot_id)));
}

}  // namespace

void FileReader::LoadBlocks() {
  ScanResult scan = ScanBlocks(file_, start_);
  blocks_ = std::move(scan.blocks);
  block_is_lost_.assign(blocks_.size(), false);
  health_.index_rebuilt = !scan.indexed;
  health_.damaged_bytes = scan.damaged_bytes;
  health_.lost_blocks = scan.lost_blocks;
  health_.lost_definitions = scan.lost_dictionaries;
  if (scan.damaged_bytes > 0) {
    health_.reasons.push_back(
        absl::StrFormat("%d bytes of the file are damaged and were skipped", scan.damaged_bytes));
  }
  if (scan.lost_blocks > 0) {
    health_.reasons.push_back(absl::StrFormat("%d blocks are missing", scan.lost_blocks));
  }
  for (const BlockInfo& block : blocks_) {
    clock_.AddAnchor(block.header.anchor_time, block.header.anchor_ns);
  }
}

void FileReader::LoadDictionary(DictionaryBuilder* builder) {
  for (const BlockInfo& block : blocks_) {
    if (block.header.kind != static_cast<uint8_t>(BlockKind::kDictionary)) continue;
    absl::Status status = ReadPayload(file_, block, &scratch_, &payload_);
    if (status.ok()) status = builder->AddPayload(payload_);
    if (!status.ok()) {
      ++health_.lost_definitions;
      health_.reasons.push_back(
          absl::StrFormat("dictionary block at byte %d: %s; some names and stacks are unknown",
                          block.offset, std::string(status.message())));
    }
  }
}

// Where the trace's blocks end in each ring that is still there. Blocks are read from the last one
// backwards, until all rings are known: rings' positions only grow.
absl::flat_hash_map<uint32_t, uint64_t> FileReader::RingEnds(const LiveContents& live) {
  absl::flat_hash_map<uint32_t, uint64_t> ends;
  for (size_t i = blocks_.size(); i > 0; --i) {
    if (!IsTimeline(blocks_[i - 1].header)) continue;
    std::vector<RingRange> ranges;
    if (!ReadPayload(file_, blocks_[i - 1], &scratch_, &payload_).ok() ||
        !ColumnDecoder::ReadRanges(payload_, &ranges).ok()) {
      continue;
    }
    for (const RingRange& range : ranges) {
      uint64_t& end = ends[range.ring_id];
      end = std::max(end, range.to);
    }
    bool all_known = true;
    for (const LiveRing& ring : live.rings) {
      // A ring whose tail is 0 may have been written by a block whose end is not in `tail` yet.
      all_known &= ring.data.empty() || ends.contains(ring.ring_id);
    }
    if (all_known) break;
  }
  return ends;
}

void FileReader::FoldRings(const LiveContents& live, DictionaryBuilder* builder) {
  const bool gone = health_.ended != Ended::kRunning;
  live_ = FoldLive(live, start_.header, gone, RingEnds(live), dictionary_, builder);
  health_.live_folded = !live_.records.empty();
  health_.uncertain_calls += live_.uncertain;
  health_.lost_events += live.lost_without_ring;
  for (const LiveRing& ring : live.rings) health_.lost_events += ring.lost;
  if (live_.damaged > 0) {
    health_.complete = false;
    health_.reasons.push_back(absl::StrFormat(
        "%d of the rings are damaged: their last calls are missing", live_.damaged));
  }
}

void FileReader::Load(std::optional<LiveContents> live, const std::string& live_path) {
  LoadBlocks();
  DictionaryBuilder builder(&dictionary_);
  LoadDictionary(&builder);
  counts_ = {dictionary_.stack_count(), dictionary_.python_stack_count(),
             dictionary_.code_object_count(), dictionary_.string_count()};
  has_live_ = live.has_value();
  live_path_ = live_path;
  if (dictionary_.end().has_value()) {
    builder.SetEndTime(clock_.ToNs(builder.end_time_units()));
    health_.ended = EndedBy(dictionary_.end()->reason);
  } else if (live.has_value()) {
    health_.ended =
        FindProcessState(live->pid, live->process_start_time, BootIdOf(start_.header), live_path);
  }
  if (live.has_value()) FoldRings(*live, &builder);
  for (uint32_t id = 1; id <= dictionary_.stack_count(); ++id) {
    if (dictionary_.stack(id).truncated) ++health_.truncated_stacks;
  }
  Judge(live.has_value(), !dictionary_.end().has_value());
}

void FileReader::Judge(bool have_live, bool live_expected) {
  if (live_expected && !have_live) {
    health_.live_missing = true;
    health_.reasons.push_back(absl::StrCat("the process did not end in order and its rings (",
                                           start_.live_path.empty() ? "unnamed" : start_.live_path,
                                           ") are not there: its last calls may be missing"));
  }
  uint64_t lost = 0;
  // Losses that the tracer reported while it ran are records; only their sum matters here.
  for (const BlockInfo& block : blocks_) lost += block.header.lost_events;
  health_.lost_events += lost;
  if (health_.lost_events > 0) {
    health_.reasons.push_back(
        absl::StrFormat("%d calls found no room and were not recorded", health_.lost_events));
  }
  health_.complete = health_.complete && !health_.live_missing && health_.lost_events == 0 &&
                     health_.damaged_bytes == 0 && health_.lost_blocks == 0 &&
                     health_.lost_definitions == 0;
}

Record FileReader::Unpack(const PackedRecord& packed) const {
  Record record;
  record.kind = packed.kind;
  record.flags = packed.flags;
  record.entry = packed.entry;
  record.result = packed.result;
  record.thread = packed.thread;
  record.context = packed.context;
  record.time_ns = clock_.ToNs(packed.time);
  record.duration_ns = clock_.DurationToNs(DurationUnits(packed.duration));
  record.native_stack = packed.native_stack;
  record.python_stack = packed.python_stack;
  record.operands = {packed.operands, packed.count};
  return record;
}

void FileReader::NoteLostBlock(size_t index, const absl::Status& status) {
  if (block_is_lost_[index]) return;
  block_is_lost_[index] = true;
  ++health_.lost_blocks;
  health_.complete = false;
  health_.reasons.push_back(absl::StrFormat("block at byte %d (%d records): %s",
                                            blocks_[index].offset, blocks_[index].header.records,
                                            std::string(status.message())));
}

absl::Status FileReader::ReadBlock(size_t index, absl::FunctionRef<void(const Record&)> visit) {
  const BlockInfo& block = blocks_[index];
  if (!IsTimeline(block.header)) return absl::OkStatus();
  absl::Status status = ReadPayload(file_, block, &scratch_, &payload_);
  if (!status.ok()) return status;
  return decoder_.Decode(payload_, block.header.records, block.header.first_time,
                         [&](const PackedRecord& packed) { visit(Unpack(packed)); });
}

absl::Status FileReader::ForEach(absl::FunctionRef<void(const Record&)> visit) {
  for (size_t i = 0; i < blocks_.size(); ++i) {
    if (absl::Status status = ReadBlock(i, visit); !status.ok()) NoteLostBlock(i, status);
  }
  return ReadRings(visit);
}

absl::Status FileReader::ReadRings(absl::FunctionRef<void(const Record&)> visit) {
  for (const LiveRecord& live : live_.records) {
    PackedRecord packed = live.record;
    packed.operands = live_.operands.data() + live.first_operand;
    visit(Unpack(packed));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<FileReader>> OpenFile(const std::string& path,
                                                     const ReaderOptions& options) {
  absl::StatusOr<InputFile> file = InputFile::Open(path);
  if (!file.ok()) return file.status();
  absl::StatusOr<FileStart> start = ReadFileStart(*file, path);
  if (!start.ok()) return start.status();
  std::optional<LiveContents> live;
  std::string found_at;
  // Where the tracer put it, or beside a trace that was copied together with its rings.
  for (const std::string& candidate :
       {options.live_path, start->live_path, absl::StrCat(path, ".live")}) {
    if (candidate.empty() || live.has_value()) continue;
    absl::StatusOr<LiveContents> contents = ReadLive(candidate, start->header.trace_id);
    if (!contents.ok()) continue;
    live = *std::move(contents);
    found_at = candidate;
  }
  // The rings were read first: what moved into the file meanwhile is in what is opened now.
  file = InputFile::Open(path);
  if (!file.ok()) return file.status();
  auto reader = std::make_unique<FileReader>(path, *std::move(file), *std::move(start));
  reader->Load(std::move(live), found_at);
  return reader;
}

absl::StatusOr<std::unique_ptr<Reader>> Reader::Open(const std::string& path,
                                                     const ReaderOptions& options) {
  absl::StatusOr<std::unique_ptr<FileReader>> reader = OpenFile(path, options);
  if (!reader.ok()) return reader.status();
  return *std::move(reader);
}

}  // namespace gputrace::trace

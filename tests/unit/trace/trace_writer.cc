// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/trace/trace_writer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "trace/crc32.h"
#include "trace/varint.h"

namespace gputrace::trace {

TraceWriter::TraceWriter(std::string live_path)
    : workspace_(BlockEncoder::WorkspaceBytes(ColumnEncoder::kMaxPayloadBytes) + 64),
      dictionary_buffer_(1 << 20),
      columns_(std::make_unique<ColumnEncoder>()) {
  const auto address = reinterpret_cast<uintptr_t>(workspace_.data());
  const size_t skip = (64 - address % 64) % 64;
  EXPECT_TRUE(blocks_.Start(workspace_.data() + skip, workspace_.size() - skip));
  dictionary_.Start(dictionary_buffer_.data(), dictionary_buffer_.size());
  columns_->Start(Hints().data(), static_cast<uint32_t>(Hints().size()));
  header.clock = static_cast<uint8_t>(ClockSource::kMonotonic);
  header.time_shift = 0;
  header.pid = 4242;
  header.ticks_per_second = 1'000'000'000;
  for (uint8_t i = 0; i < 16; ++i) header.trace_id[i] = i;
  std::vector<uint8_t> out(sizeof(FileHeader) + live_path.size() + 4);
  const size_t size = EncodeFileHeader(header, live_path.data(), live_path.size(), out.data());
  bytes_.assign(reinterpret_cast<char*>(out.data()), size);
}

const std::vector<EntryHints>& TraceWriter::Hints() {
  static const auto* hints = [] {
    auto* table = new std::vector<EntryHints>(3);
    (*table)[1].count = 2;
    (*table)[1].in_count = 1;
    (*table)[1].operands[0] = {Role::kSize, Predictor::kLast};
    (*table)[1].operands[1] = {Role::kAddress, Predictor::kOpen};
    (*table)[2].count = 1;
    (*table)[2].in_count = 1;
    (*table)[2].operands[0] = {Role::kAddress, Predictor::kClose};
    return table;
  }();
  return *hints;
}

void TraceWriter::DefineEntries() {
  const EntryView::Effect open{Verb::kOpen, KindBit(ObjectKind::kDevice)};
  const EntryView::Operand open_operands[] = {
      {BytesOf("size"), Role::kSize, false, Predictor::kLast},
      {BytesOf("address"), Role::kAddress, true, Predictor::kOpen}};
  const EntryView::Effect close{Verb::kClose, KindBit(ObjectKind::kDevice)};
  const EntryView::Operand close_operand{BytesOf("address"), Role::kAddress, false,
                                         Predictor::kClose};
  EXPECT_TRUE(dictionary_.AddEntry({1, BytesOf("cuMemAlloc_v2"), EntryClass::kRecord, false,
                                    ContextSource::kCurrent, CaptureRule::kLegal, &open, 1,
                                    open_operands, 2}));
  EXPECT_TRUE(dictionary_.AddEntry({2, BytesOf("cuMemFree_v2"), EntryClass::kRecord, true,
                                    ContextSource::kCurrent, CaptureRule::kLegal, &close, 1,
                                    &close_operand, 1}));
}

void TraceWriter::AddBlock(BlockEncoder::Description description, const uint8_t* payload,
                           size_t size) {
  std::vector<uint8_t> out(BlockEncoder::MaxBlockBytes(size));
  const size_t stored = blocks_.Encode(description, payload, size, out.data());
  offsets_.push_back(bytes_.size());
  bytes_.append(reinterpret_cast<char*>(out.data()), stored);
  blocks_.Accept();
}

void TraceWriter::FlushDictionary() {
  BlockEncoder::Description description;
  description.kind = BlockKind::kDictionary;
  description.layout = BlockLayout::kTlv;
  description.records = dictionary_.records();
  AddBlock(description, dictionary_.data(), dictionary_.size());
  dictionary_.Clear();
}

void TraceWriter::AddEvents(const std::vector<TestRecord>& records,
                            const std::vector<RingRange>& ranges, uint32_t lost_events) {
  columns_->Restart();
  for (const TestRecord& test : records) {
    PackedRecord record = test.record;
    record.operands = test.operands.data();
    record.count = static_cast<uint32_t>(test.operands.size());
    ASSERT_TRUE(columns_->Add(record));
  }
  std::vector<uint8_t> payload(ColumnEncoder::kMaxPayloadBytes);
  const size_t size =
      columns_->Finish(ranges.data(), static_cast<uint32_t>(ranges.size()), payload.data());
  BlockEncoder::Description description;
  description.records = columns_->records();
  description.lost_events = lost_events;
  description.first_time = columns_->first_time();
  description.last_time = columns_->last_time();
  description.anchor_time = columns_->last_time() + 1;
  description.anchor_ns = columns_->last_time() + 1;
  AddBlock(description, payload.data(), size);
}

void TraceWriter::Finish(uint64_t end_time) {
  EXPECT_TRUE(dictionary_.AddEnd(EndReason::kExit, end_time));
  FlushDictionary();
  std::vector<uint8_t> payload(kMaxVarintBytes + offsets_.size() * kMaxIndexEntryBytes);
  uint8_t* at = PutVarint(payload.data(), offsets_.size());
  IndexEntry previous;
  const size_t blocks = offsets_.size();
  for (const size_t offset : offsets_) {
    IndexEntry entry{offset, {}};
    memcpy(&entry.header, bytes_.data() + offset, sizeof(entry.header));
    at = PutIndexEntry(at, entry, previous);
    previous = entry;
  }
  BlockEncoder::Description description;
  description.kind = BlockKind::kIndex;
  description.layout = BlockLayout::kTlv;
  description.records = static_cast<uint32_t>(blocks);
  const size_t index_offset = bytes_.size();
  AddBlock(description, payload.data(), static_cast<size_t>(at - payload.data()));
  const Trailer trailer = MakeTrailer(index_offset, bytes_.size() - index_offset);
  bytes_.append(reinterpret_cast<const char*>(&trailer), sizeof(trailer));
}

void TraceWriter::WriteTo(const std::string& path) const {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes_;
}

void AppendRingRecord(std::vector<uint64_t>* words, RingRecord record,
                      const std::vector<uint64_t>& operands) {
  record.words = static_cast<uint16_t>(kRingRecordWords + operands.size());
  const size_t at = words->size();
  words->resize(at + kRingRecordWords);
  memcpy(&(*words)[at], &record, sizeof(record));
  words->insert(words->end(), operands.begin(), operands.end());
}

void WriteLiveFile(const std::string& path, const FileHeader& header,
                   const std::vector<LiveRingSpec>& rings, uint32_t ring_bytes,
                   uint64_t lost_without_ring) {
  std::string bytes(kLivePageBytes + rings.size() * (kLivePageBytes + ring_bytes), '\0');
  auto* live = reinterpret_cast<LiveHeader*>(bytes.data());
  memcpy(live->magic, kLiveMagic, kMagicBytes);
  live->version = kLiveVersion;
  memcpy(live->trace_id, header.trace_id, sizeof(live->trace_id));
  live->pid = header.pid;
  live->ring_bytes = ring_bytes;
  live->header_crc32 =
      Crc32(live->trace_id, offsetof(LiveHeader, rings) - offsetof(LiveHeader, trace_id));
  live->rings = static_cast<uint32_t>(rings.size());
  live->lost_without_ring = lost_without_ring;
  for (size_t i = 0; i < rings.size(); ++i) {
    const LiveRingSpec& spec = rings[i];
    char* at = bytes.data() + kLivePageBytes + i * (kLivePageBytes + ring_bytes);
    auto* ring = reinterpret_cast<RingHeader*>(at);
    ring->state = static_cast<uint32_t>(RingState::kOwned);
    ring->ring_id = spec.ring_id;
    ring->thread = spec.thread;
    ring->tid = spec.tid;
    ring->tail = spec.tail;
    ring->head = spec.tail + spec.words.size() * 8;
    ring->in_call = spec.in_call;
    ring->lost = spec.lost;
    for (size_t w = 0; w < spec.words.size(); ++w) {
      memcpy(at + kLivePageBytes + (spec.tail + w * 8) % ring_bytes, &spec.words[w], 8);
    }
  }
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

std::string TemporaryPath(const std::string& name) {
  return ::testing::TempDir() + "gputrace_" + std::to_string(getpid()) + "_" + name;
}

}  // namespace gputrace::trace

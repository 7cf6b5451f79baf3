// SPDX-License-Identifier: Apache-2.0
// Folding the rings that a killed process left into its trace.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>

#include "tests/unit/trace/trace_writer.h"
#include "trace/reader.h"

namespace gputrace::trace {
namespace {

using ::testing::ElementsAre;

RingRecord Call(uint64_t ticks, uint64_t native_hash = 0) {
  RingRecord record{};
  record.kind = static_cast<uint8_t>(RecordKind::kCall);
  record.entry = 1;
  record.ticks = ticks;
  record.native_hash = native_hash;
  return record;
}
RingRecord Definition(RingOnlyKind kind, uint64_t hash) {
  RingRecord record{};
  record.kind = static_cast<uint8_t>(kind);
  record.native_hash = hash;
  return record;
}
// Fixed words, then texts, as rings hold them.
std::vector<uint64_t> WithTexts(std::vector<uint64_t> words,
                                const std::vector<std::string>& texts) {
  std::string bytes;
  for (const std::string& text : texts) {
    words.push_back(text.size());
    bytes += text;
  }
  bytes.resize((bytes.size() + 7) / 8 * 8);
  const size_t at = words.size();
  words.resize(at + bytes.size() / 8);
  if (!bytes.empty()) memcpy(&words[at], bytes.data(), bytes.size());
  return words;
}

class LiveTest : public ::testing::Test {
 protected:
  LiveTest() : writer_(live_path_) {
    writer_.DefineEntries();
    writer_.FlushDictionary();
  }
  void TearDown() override {
    unlink(path_.c_str());
    unlink(live_path_.c_str());
  }
  std::unique_ptr<Reader> Open() {
    writer_.WriteTo(path_);
    absl::StatusOr<std::unique_ptr<Reader>> reader = Reader::Open(path_);
    EXPECT_TRUE(reader.ok()) << reader.status();
    return *std::move(reader);
  }
  std::vector<uint64_t> Addresses(Reader* reader) {
    std::vector<uint64_t> addresses;
    EXPECT_TRUE(reader->ForEach([&](const Record& r) { addresses.push_back(r.operands[1]); }).ok());
    return addresses;
  }

  const std::string path_ = TemporaryPath("live.gputrace");
  const std::string live_path_ = TemporaryPath("live.gputrace.live");
  TraceWriter writer_;
};

TEST_F(LiveTest, FoldsRingsInOrderOfTime) {
  std::vector<LiveRingSpec> rings(2);
  rings[1].ring_id = rings[1].thread = 2;
  AppendRingRecord(&rings[0].words, Call(10), {64, 0xa});
  AppendRingRecord(&rings[0].words, Call(30), {64, 0xc});
  AppendRingRecord(&rings[1].words, Call(20), {64, 0xb});
  WriteLiveFile(live_path_, writer_.header, rings);
  const std::unique_ptr<Reader> reader = Open();
  EXPECT_TRUE(reader->health().live_folded);
  EXPECT_TRUE(reader->health().complete);
  EXPECT_EQ(reader->health().ended, Ended::kKilled);
  EXPECT_THAT(Addresses(reader.get()), ElementsAre(0xa, 0xb, 0xc));
}

TEST_F(LiveTest, TakesNothingTwice) {
  LiveRingSpec ring;
  AppendRingRecord(&ring.words, Call(10), {64, 0xa});
  const uint64_t first_bytes = ring.words.size() * 8;
  AppendRingRecord(&ring.words, Call(20), {64, 0xb});
  WriteLiveFile(live_path_, writer_.header, {ring});
  // The block is in the file, but the process died before it could say so in the ring's tail.
  TestRecord written;
  written.record.entry = 1;
  written.record.time = 10;
  written.operands = {64, 0xa};
  writer_.AddEvents({written}, {{1, 0, first_bytes}});
  const std::unique_ptr<Reader> reader = Open();
  EXPECT_THAT(Addresses(reader.get()), ElementsAre(0xa, 0xb));
}

TEST_F(LiveTest, ReadsARingThatWrapsAround) {
  LiveRingSpec ring;
  ring.tail = 65536 * 5 + 65536 - 80;
  for (uint64_t i = 0; i < 4; ++i) AppendRingRecord(&ring.words, Call(10 + i), {64, 0xa + i});
  WriteLiveFile(live_path_, writer_.header, {ring});
  EXPECT_THAT(Addresses(Open().get()), ElementsAre(0xa, 0xb, 0xc, 0xd));
}

TEST_F(LiveTest, DefinitionsInRingsBecomePartOfTheDictionary) {
  LiveRingSpec ring;
  RingRecord module = Definition(RingOnlyKind::kModule, 5);
  module.epoch = 3;
  AppendRingRecord(&ring.words, module,
                   WithTexts({0x1000, 0x9000, 0x1000}, {"/lib/m.so", "\xab\x01"}));
  RingRecord stack = Definition(RingOnlyKind::kStack, 0x77);
  stack.epoch = 3;
  AppendRingRecord(&ring.words, stack, {0x1500, 0x1600});
  AppendRingRecord(&ring.words, Definition(RingOnlyKind::kContext, 0), {1, 0xc0de, 1});
  AppendRingRecord(&ring.words, Definition(RingOnlyKind::kDevice, 0),
                   WithTexts({0, 1 << 30, 1, 2}, {"card"}));
  AppendRingRecord(&ring.words, Definition(RingOnlyKind::kFact, 0),
                   WithTexts({}, {"driver.version", "13050"}));
  RingRecord code = Definition(RingOnlyKind::kCodeObject, 0x99);
  AppendRingRecord(&ring.words, code, WithTexts({41, 0x030b}, {"loss", "train.py", "table"}));
  RingRecord python = Definition(RingOnlyKind::kPythonStack, 0);
  python.python_hash = 0x55;
  AppendRingRecord(&ring.words, python, {0x99, 7});
  RingRecord call = Call(10, 0x77);
  call.python_hash = 0x55;
  call.context = 1;
  AppendRingRecord(&ring.words, call, {64, 0xa});
  WriteLiveFile(live_path_, writer_.header, {ring});
  const std::unique_ptr<Reader> reader = Open();
  const Dictionary& d = reader->dictionary();
  Record record;
  ASSERT_TRUE(reader->ForEach([&](const Record& r) { record = r; }).ok());
  EXPECT_THAT(d.stack(record.native_stack).pcs, ElementsAre(0x1500, 0x1600));
  EXPECT_EQ(d.FindModule(0x1500, 3)->build_id, "ab01");
  EXPECT_EQ(d.context(record.context).handle, 0xc0deu);
  EXPECT_EQ(d.context(record.context).device, 0);
  EXPECT_EQ(d.devices().at(0).name, "card");
  EXPECT_EQ(d.fact("driver.version"), "13050");
  EXPECT_EQ(d.thread(record.thread).tid, 77u);
  ASSERT_EQ(d.python_stack(record.python_stack).frames.size(), 1u);
  EXPECT_EQ(d.code_object(d.python_stack(record.python_stack).frames[0].code_object).qualified_name,
            "loss");
}

TEST_F(LiveTest, NamesInRingsBecomeStringIds) {
  LiveRingSpec ring;
  AppendRingRecord(&ring.words, Definition(RingOnlyKind::kString, 0xabc), WithTexts({}, {"epoch"}));
  RingRecord phase{};
  phase.kind = static_cast<uint8_t>(RecordKind::kPhase);
  AppendRingRecord(&ring.words, phase, {1, 1, 0xabc, 0, 0});
  WriteLiveFile(live_path_, writer_.header, {ring});
  const std::unique_ptr<Reader> reader = Open();
  uint64_t name = 0;
  ASSERT_TRUE(reader
                  ->ForEach([&](const Record& r) {
                    name = r.operands[static_cast<size_t>(PhaseOperand::kName)];
                  })
                  .ok());
  EXPECT_EQ(reader->dictionary().string(static_cast<uint32_t>(name)), "epoch");
}

TEST_F(LiveTest, ACallInFlightIsMarked) {
  LiveRingSpec ring;
  AppendRingRecord(&ring.words, Call(10), {64, 0xa});
  RingRecord intent = Call(20);
  intent.kind = static_cast<uint8_t>(RecordKind::kIntent);
  intent.entry = 2;
  ring.in_call = ring.words.size() * 8 + 1;
  AppendRingRecord(&ring.words, intent, {0xa});
  WriteLiveFile(live_path_, writer_.header, {ring});
  const std::unique_ptr<Reader> reader = Open();
  EXPECT_EQ(reader->health().uncertain_calls, 1u);
  std::vector<int> flags;
  ASSERT_TRUE(
      reader->ForEach([&](const Record& r) { flags.push_back(r.flags & kFlagUncertain); }).ok());
  EXPECT_THAT(flags, ElementsAre(0, kFlagUncertain));
}

TEST_F(LiveTest, LossesInRingsAreCounted) {
  LiveRingSpec ring;
  ring.lost = 3;
  WriteLiveFile(live_path_, writer_.header, {ring});
  EXPECT_EQ(Open()->health().lost_events, 3u);
  constexpr uint32_t kRingBytes = 4096;
  WriteLiveFile(live_path_, writer_.header, {ring}, kRingBytes, 4);
  EXPECT_EQ(Open()->health().lost_events, 7u) << "and those of threads without one";
}

TEST_F(LiveTest, RingsOfAnotherTraceAreLeftAlone) {
  FileHeader other = writer_.header;
  other.trace_id[3] ^= 1;
  WriteLiveFile(live_path_, other, {LiveRingSpec{}});
  EXPECT_TRUE(Open()->health().live_missing);
}

TEST_F(LiveTest, ADamagedRingKeepsWhatCameBefore) {
  LiveRingSpec ring;
  AppendRingRecord(&ring.words, Call(10), {64, 0xa});
  RingRecord bad = Call(20);
  AppendRingRecord(&ring.words, bad, {64, 0xb});
  ring.words[ring.words.size() - 8] |= 0xffff00000000u;  // its length points far beyond the ring
  WriteLiveFile(live_path_, writer_.header, {ring});
  const std::unique_ptr<Reader> reader = Open();
  EXPECT_THAT(Addresses(reader.get()), ElementsAre(0xa));
  EXPECT_FALSE(reader->health().complete);
}

TEST_F(LiveTest, RingsCutShortDoNotCrash) {
  LiveRingSpec ring;
  for (uint64_t i = 0; i < 20; ++i) AppendRingRecord(&ring.words, Call(10 + i), {64, i});
  WriteLiveFile(live_path_, writer_.header, {ring});
  for (const off_t size : {0, 10, 100, 4096, 4100, 8192, 8200, 9000}) {
    ASSERT_EQ(truncate(live_path_.c_str(), size), 0);
    Open();
  }
}

}  // namespace
}  // namespace gputrace::trace

// SPDX-License-Identifier: Apache-2.0
#include "trace/repair.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "tests/unit/trace/trace_writer.h"
#include "trace/reader.h"

namespace gputrace::trace {
namespace {

class RepairTest : public ::testing::Test {
 protected:
  void TearDown() override {
    unlink(path_.c_str());
    unlink(live_path_.c_str());
    unlink(output_.c_str());
  }
  static TestRecord Event(uint64_t time) {
    TestRecord test;
    test.record.entry = 1;
    test.record.thread = 1;
    test.record.time = time;
    test.operands = {64, 0x1000 + time};
    return test;
  }
  static std::vector<uint64_t> Addresses(const std::string& path, Health* health) {
    std::vector<uint64_t> addresses;
    absl::StatusOr<std::unique_ptr<Reader>> reader = Reader::Open(path);
    EXPECT_TRUE(reader.ok()) << reader.status();
    EXPECT_TRUE(
        (*reader)->ForEach([&](const Record& r) { addresses.push_back(r.operands[1]); }).ok());
    *health = (*reader)->health();
    return addresses;
  }

  const std::string path_ = TemporaryPath("repair.gputrace");
  const std::string live_path_ = TemporaryPath("repair.gputrace.live");
  const std::string output_ = TemporaryPath("repaired.gputrace");
};

TEST_F(RepairTest, FoldsRingsInAndRemovesThem) {
  TraceWriter writer(live_path_);
  writer.DefineEntries();
  writer.FlushDictionary();
  writer.AddEvents({Event(1)});
  writer.WriteTo(path_);
  LiveRingSpec ring;
  RingRecord stack{};
  stack.kind = static_cast<uint8_t>(RingOnlyKind::kStack);
  stack.native_hash = 0x77;
  AppendRingRecord(&ring.words, stack, {0x1500});
  RingRecord call{};
  call.kind = static_cast<uint8_t>(RecordKind::kCall);
  call.entry = 1;
  call.ticks = 50;
  call.native_hash = 0x77;
  AppendRingRecord(&ring.words, call, {64, 0xbeef});
  WriteLiveFile(live_path_, writer.header, {ring});

  const absl::StatusOr<RepairResult> result = Repair(path_);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->changed);
  EXPECT_EQ(result->records_folded, 1u);
  EXPECT_TRUE(result->live_removed);
  EXPECT_TRUE(result->index_written);
  EXPECT_NE(access(live_path_.c_str(), F_OK), 0);

  Health health;
  EXPECT_THAT(Addresses(path_, &health), ::testing::ElementsAre(0x1001, 0xbeef));
  EXPECT_TRUE(health.complete);
  EXPECT_FALSE(health.index_rebuilt);
  EXPECT_EQ(health.ended, Ended::kKilled) << "a repaired trace does not claim an orderly exit";
  const absl::StatusOr<std::unique_ptr<Reader>> reader = Reader::Open(path_);
  EXPECT_EQ((*reader)->dictionary().stack(1).pcs.size(), 1u);
  EXPECT_FALSE(Repair(path_)->changed) << "a second repair finds nothing to do";
}

TEST_F(RepairTest, CutsDamageOutAndKeepsTheOriginalIfAsked) {
  TraceWriter writer;
  writer.DefineEntries();
  writer.FlushDictionary();
  writer.AddEvents({Event(1)});
  writer.AddEvents({Event(2)});
  writer.AddEvents({Event(3)});
  std::string bytes = writer.bytes();
  bytes[writer.block_offsets()[2] + 1] ^= 1;
  std::ofstream(path_, std::ios::binary) << bytes;
  const absl::StatusOr<RepairResult> result = Repair(path_, output_);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->bytes_dropped, writer.block_offsets()[3] - writer.block_offsets()[2]);
  Health health;
  EXPECT_THAT(Addresses(output_, &health), ::testing::ElementsAre(0x1001, 0x1003));
  EXPECT_EQ(health.damaged_bytes, 0u);
  EXPECT_EQ(health.lost_blocks, 1u) << "what is gone stays known";
  Addresses(path_, &health);
  EXPECT_GT(health.damaged_bytes, 0u) << "the original is as it was";
}

TEST_F(RepairTest, RefusesWhatIsNoTrace) {
  std::ofstream(path_) << "text";
  EXPECT_EQ(Repair(path_).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(RepairTest, AnOutputThatCannotBeWrittenIsAnError) {
  TraceWriter writer;
  writer.AddEvents({Event(1)});
  writer.WriteTo(path_);
  EXPECT_EQ(Repair(path_, "/nonexistent/x.gputrace").status().code(),
            absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace gputrace::trace

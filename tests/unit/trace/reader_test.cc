// SPDX-License-Identifier: Apache-2.0
// Whole files: good ones, cut ones, damaged ones, and what is no trace at all.
#include "trace/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "tests/unit/trace/trace_writer.h"

namespace gputrace::trace {
namespace {

using ::testing::HasSubstr;

std::vector<TestRecord> Events(uint64_t first_time, size_t count) {
  std::vector<TestRecord> records(count);
  for (size_t i = 0; i < count; ++i) {
    records[i].record.entry = 1;
    records[i].record.thread = 1;
    records[i].record.time = first_time + i;
    records[i].operands = {1024, 0x1000 * (first_time + i)};
  }
  return records;
}

// Header, dictionary, three event blocks of 10 records, end, index, trailer.
TraceWriter SmallTrace() {
  TraceWriter writer;
  writer.DefineEntries();
  writer.FlushDictionary();
  for (uint64_t block = 0; block < 3; ++block) writer.AddEvents(Events(100 * block, 10));
  writer.Finish(500);
  return writer;
}

class ReaderTest : public ::testing::Test {
 protected:
  void TearDown() override { unlink(path_.c_str()); }
  void Write(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
  }
  std::unique_ptr<Reader> Open() {
    absl::StatusOr<std::unique_ptr<Reader>> reader = Reader::Open(path_);
    EXPECT_TRUE(reader.ok()) << reader.status();
    return reader.ok() ? *std::move(reader) : nullptr;
  }
  size_t CountRecords(Reader* reader) {
    size_t count = 0;
    EXPECT_TRUE(reader->ForEach([&](const Record&) { ++count; }).ok());
    return count;
  }
  std::string ErrorText() {
    const absl::Status status = Reader::Open(path_).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  }

  const std::string path_ = TemporaryPath("reader.gputrace");
};

TEST_F(ReaderTest, ReadsAWholeTrace) {
  SmallTrace().WriteTo(path_);
  const std::unique_ptr<Reader> reader = Open();
  EXPECT_TRUE(reader->health().complete);
  EXPECT_FALSE(reader->health().index_rebuilt);
  EXPECT_EQ(reader->health().ended, Ended::kExit);
  EXPECT_EQ(reader->dictionary().end()->time_ns, 500);
  EXPECT_EQ(reader->header().pid, 4242u);
  std::vector<Record> records;
  std::vector<uint64_t> addresses;
  ASSERT_TRUE(reader
                  ->ForEach([&](const Record& record) {
                    records.push_back(record);
                    addresses.push_back(record.operands[1]);
                  })
                  .ok());
  ASSERT_EQ(records.size(), 30u);
  EXPECT_EQ(records[29].time_ns, 209);
  EXPECT_EQ(addresses[29], 0x1000u * 209);
  EXPECT_EQ(CountRecords(reader.get()), 30u) << "a second pass gives the same";
}

TEST_F(ReaderTest, BlocksCanBeReadAlone) {
  SmallTrace().WriteTo(path_);
  const std::unique_ptr<Reader> reader = Open();
  ASSERT_EQ(reader->blocks().size(), 5u);
  int64_t first = -1;
  ASSERT_TRUE(reader
                  ->ReadBlock(2,
                              [&](const Record& record) {
                                if (first < 0) first = record.time_ns;
                              })
                  .ok());
  EXPECT_EQ(first, 100);
}

TEST_F(ReaderTest, ReadsATraceCutAtAnyLength) {
  const TraceWriter writer = SmallTrace();
  const std::string& bytes = writer.bytes();
  size_t fewest = 0;
  for (size_t size = writer.block_offsets()[0]; size < bytes.size(); ++size) {
    Write(bytes.substr(0, size));
    const std::unique_ptr<Reader> reader = Open();
    ASSERT_NE(reader, nullptr) << size;
    EXPECT_FALSE(reader->health().complete && size < writer.block_offsets().back()) << size;
    const size_t count = CountRecords(reader.get());
    EXPECT_GE(count, fewest) << size;
    EXPECT_EQ(count % 10, 0u) << size;
    fewest = count;
  }
  EXPECT_EQ(fewest, 30u);
}

TEST_F(ReaderTest, SaysSoWhenTheHeaderIsCut) {
  const std::string bytes = SmallTrace().bytes();
  for (size_t size = kMagicBytes; size < sizeof(FileHeader) + 4; ++size) {
    Write(bytes.substr(0, size));
    EXPECT_THAT(ErrorText(), HasSubstr("cut off inside its header")) << size;
  }
}

TEST_F(ReaderTest, GoesOnAfterDamage) {
  const TraceWriter writer = SmallTrace();
  std::string bytes = writer.bytes();
  bytes.resize(
      writer.block_offsets().back());  // without index, so that the damage is met while scanning
  bytes[writer.block_offsets()[2] + 3] ^= 0x40;  // the second event block's magic
  Write(bytes);
  const std::unique_ptr<Reader> reader = Open();
  EXPECT_EQ(CountRecords(reader.get()), 20u);
  EXPECT_FALSE(reader->health().complete);
  EXPECT_EQ(reader->health().lost_blocks, 1u);
  EXPECT_EQ(reader->health().damaged_bytes, writer.block_offsets()[3] - writer.block_offsets()[2]);
  EXPECT_FALSE(reader->health().reasons.empty());
}

TEST_F(ReaderTest, ADamagedPayloadCostsItsBlockOnly) {
  const TraceWriter writer = SmallTrace();
  std::string bytes = writer.bytes();
  bytes[writer.block_offsets()[1] + sizeof(BlockHeader) + 5] ^= 1;
  Write(bytes);
  const std::unique_ptr<Reader> reader = Open();
  EXPECT_EQ(CountRecords(reader.get()), 20u);
  EXPECT_FALSE(reader->health().complete);
  EXPECT_EQ(reader->health().lost_blocks, 1u);
}

TEST_F(ReaderTest, EverySingleByteFlippedIsSurvived) {
  const std::string bytes = SmallTrace().bytes();
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string bad = bytes;
    bad[i] ^= 0x55;
    Write(bad);
    absl::StatusOr<std::unique_ptr<Reader>> reader = Reader::Open(path_);
    if (!reader.ok()) {
      EXPECT_LT(i, sizeof(FileHeader) + 4) << reader.status();
      continue;
    }
    EXPECT_GE(CountRecords(reader->get()), 20u) << i;
  }
}

TEST_F(ReaderTest, CountsWhatTheTracerLost) {
  TraceWriter writer;
  writer.AddEvents(Events(0, 1), {}, 17);
  writer.Finish(9);
  writer.WriteTo(path_);
  const std::unique_ptr<Reader> reader = Open();
  EXPECT_EQ(reader->health().lost_events, 17u);
  EXPECT_FALSE(reader->health().complete);
}

TEST_F(ReaderTest, SaysThatTheRingsAreMissing) {
  TraceWriter writer("/nonexistent/rings.live");
  writer.AddEvents(Events(0, 3));
  writer.WriteTo(path_);
  const std::unique_ptr<Reader> reader = Open();
  EXPECT_TRUE(reader->health().live_missing);
  EXPECT_FALSE(reader->health().complete);
  EXPECT_EQ(reader->health().ended, Ended::kKilled);
  EXPECT_THAT(reader->health().reasons.at(0), HasSubstr("/nonexistent/rings.live"));
}

TEST_F(ReaderTest, RefusesWhatIsNoTrace) {
  Write("epoch 1 loss 0.3\n");
  EXPECT_THAT(ErrorText(), HasSubstr("not a gputrace trace"));
  Write("x");
  EXPECT_THAT(ErrorText(), HasSubstr("not a gputrace trace"));
  Write("");
  EXPECT_THAT(ErrorText(), HasSubstr("empty file"));
}

TEST_F(ReaderTest, RefusesANewerFormat) {
  std::string bytes = SmallTrace().bytes();
  const uint16_t newer[2] = {9, 9};
  bytes.replace(offsetof(FileHeader, version), 4, reinterpret_cast<const char*>(newer), 4);
  Write(bytes);
  EXPECT_THAT(ErrorText(), HasSubstr("newer gputrace"));
}

TEST_F(ReaderTest, MissingFilesAndFoldersAreErrorsOfTheirOwn) {
  EXPECT_EQ(Reader::Open(path_ + ".none").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Reader::Open(::testing::TempDir()).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace gputrace::trace

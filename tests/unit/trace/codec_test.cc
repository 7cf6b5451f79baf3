// SPDX-License-Identifier: Apache-2.0
// Event blocks: what goes in comes out, for all kinds of records and whatever the model predicts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/unit/trace/trace_writer.h"
#include "trace/column_decoder.h"

namespace gputrace::trace {
namespace {

using ::testing::ElementsAreArray;

struct Encoded {
  std::vector<uint8_t> payload;
  uint32_t records = 0;
  uint64_t first_time = 0;
};

Encoded Encode(const std::vector<TestRecord>& records, const std::vector<RingRange>& ranges = {}) {
  auto encoder = std::make_unique<ColumnEncoder>();
  const std::vector<EntryHints>& hints = TraceWriter::Hints();
  encoder->Start(hints.data(), static_cast<uint32_t>(hints.size()));
  for (const TestRecord& test : records) {
    PackedRecord record = test.record;
    record.operands = test.operands.data();
    record.count = static_cast<uint32_t>(test.operands.size());
    EXPECT_TRUE(encoder->Add(record));
  }
  Encoded encoded;
  encoded.payload.resize(ColumnEncoder::kMaxPayloadBytes);
  encoded.payload.resize(
      encoder->Finish(ranges.data(), static_cast<uint32_t>(ranges.size()), encoded.payload.data()));
  encoded.records = encoder->records();
  encoded.first_time = encoder->first_time();
  return encoded;
}

std::vector<TestRecord> Decode(const Encoded& encoded) {
  ColumnDecoder decoder;
  std::vector<TestRecord> records;
  const absl::Status status = decoder.Decode(
      encoded.payload, encoded.records, encoded.first_time, [&](const PackedRecord& record) {
        records.push_back({record, {record.operands, record.operands + record.count}});
      });
  EXPECT_TRUE(status.ok()) << status;
  return records;
}

void ExpectSame(const std::vector<TestRecord>& got, const std::vector<TestRecord>& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    const PackedRecord& a = got[i].record;
    const PackedRecord& b = wanted[i].record;
    ASSERT_EQ(a.kind, b.kind) << i;
    ASSERT_EQ(a.flags, b.flags) << i;
    ASSERT_EQ(a.entry, b.entry) << i;
    ASSERT_EQ(a.result, b.result) << i;
    ASSERT_EQ(a.thread, b.thread) << i;
    ASSERT_EQ(a.context, b.context) << i;
    ASSERT_EQ(a.native_stack, b.native_stack) << i;
    ASSERT_EQ(a.python_stack, b.python_stack) << i;
    ASSERT_EQ(a.time, b.time) << i;
    ASSERT_EQ(a.duration, b.duration) << i;
    ASSERT_THAT(got[i].operands, ElementsAreArray(wanted[i].operands)) << i;
  }
}

TEST(ColumnCodec, RoundTripsEveryKindWithEveryField) {
  std::vector<TestRecord> records;
  for (uint8_t kind = 1; kind <= kLastRecordKind; ++kind) {
    TestRecord test;
    test.record.kind = static_cast<RecordKind>(kind);
    test.record.flags = kFlagTruncatedStack | kFlagBaseState;
    test.record.entry = static_cast<uint16_t>(kind % 3);
    test.record.result = -kind;
    test.record.thread = 0xfffffff0u + kind;
    test.record.context = 7u * kind;
    test.record.native_stack = 1'000'000'000u + kind;
    test.record.python_stack = 3'000'000'000u - kind;
    test.record.time = uint64_t{kind} << 40;
    test.record.duration = kind;
    test.operands.assign(kind, ~uint64_t{0} - kind);
    records.push_back(test);
  }
  ExpectSame(Decode(Encode(records)), records);
}

TEST(ColumnCodec, TakesTheMostOperandsAndNone) {
  std::vector<TestRecord> records(2);
  records[0].operands.assign(kMaxOperands, 5);
  records[0].operands[13] = uint64_t{1} << 63;
  ExpectSame(Decode(Encode(records)), records);
}

TEST(ColumnCodec, KeepsTheRangesOfTheRings) {
  const std::vector<RingRange> ranges = {{1, 0, 4096}, {9, 1ull << 40, (1ull << 40) + 8}};
  const Encoded encoded = Encode({TestRecord{}}, ranges);
  std::vector<RingRange> read;
  ASSERT_TRUE(ColumnDecoder::ReadRanges(encoded.payload, &read).ok());
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[1].ring_id, 9u);
  EXPECT_EQ(read[1].from, 1ull << 40);
  EXPECT_EQ(read[1].to, (1ull << 40) + 8);
}

TEST(ColumnCodec, TimesNeverGoBack) {
  std::vector<TestRecord> records(2);
  records[0].record.time = 100;
  records[1].record.time = 99;
  const std::vector<TestRecord> read = Decode(Encode(records));
  EXPECT_EQ(read[1].record.time, 100u);
}

// An allocator that hands out addresses as real ones do, driven at random: reuse, frees of blocks
// from before, addresses that never come back, several threads and sites.
std::vector<TestRecord> RandomProgram(uint64_t seed, size_t count) {
  std::mt19937_64 random(seed);
  std::vector<TestRecord> records;
  std::vector<std::pair<uint64_t, uint64_t>> live;
  std::vector<uint64_t> holes;
  uint64_t next = 0x7f0000000000;
  uint64_t time = 0;
  while (records.size() < count) {
    TestRecord test;
    test.record.time = time += random() % 50;
    test.record.thread = 1 + random() % 3;
    test.record.context = 1;
    test.record.native_stack = 1 + random() % 40;
    test.record.duration = random() % 4 == 0 ? static_cast<uint8_t>(random() % 60) : 0;
    if (live.empty() || random() % 2 == 0) {
      test.record.entry = 1;
      const uint64_t size = 512 << (random() % 8);
      uint64_t address = next;
      if (!holes.empty() && random() % 4 != 0) {
        address = holes.back();
        holes.pop_back();
      } else {
        next += size + (random() % 8 == 0 ? 3 : 0);
      }
      test.operands = {size, address};
      live.emplace_back(address, size);
    } else if (random() % 20 == 0) {
      test.record.kind = RecordKind::kIntent;
      test.record.entry = 2;
      test.operands = {random()};  // freed, though never seen allocated
    } else {
      test.record.kind = RecordKind::kIntent;
      test.record.entry = 2;
      const size_t victim = random() % 3 == 0 ? random() % live.size() : live.size() - 1;
      test.operands = {live[victim].first};
      holes.push_back(live[victim].first);
      live.erase(live.begin() + static_cast<ptrdiff_t>(victim));
    }
    records.push_back(test);
  }
  return records;
}

TEST(ColumnCodec, RoundTripsRandomPrograms) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    const std::vector<TestRecord> records = RandomProgram(seed, 4000);
    ExpectSame(Decode(Encode(records)), records);
  }
}

TEST(ColumnCodec, ALoopCostsLittle) {
  std::vector<TestRecord> records;
  for (uint64_t i = 0; i < 8000; ++i) {
    TestRecord test;
    test.record.time = i * 10;
    test.record.native_stack = static_cast<uint32_t>(1 + i % 20);
    const uint64_t address = 0x7f0000000000 + (i / 2 % 10) * 4096;
    test.record.entry = i % 2 == 0 ? 1 : 2;
    test.operands =
        i % 2 == 0 ? std::vector<uint64_t>{4096, address} : std::vector<uint64_t>{address};
    records.push_back(test);
  }
  // Before compression: a byte each for site, time and duration, one or two for the operands.
  EXPECT_LT(Encode(records).payload.size(), records.size() * 5);
}

TEST(ColumnCodec, AFullBlockIsRefusedNotOverrun) {
  auto encoder = std::make_unique<ColumnEncoder>();
  encoder->Start(TraceWriter::Hints().data(), 3);
  std::mt19937_64 random(7);
  std::vector<uint64_t> operands(kMaxOperands);
  PackedRecord record;
  record.operands = operands.data();
  record.count = kMaxOperands;
  uint32_t added = 0;
  for (;; ++added) {
    for (uint64_t& operand : operands) operand = random();
    record.native_stack = static_cast<uint32_t>(random());
    if (!encoder->Add(record)) break;
  }
  EXPECT_GT(added, 50u);
  std::vector<uint8_t> payload(ColumnEncoder::kMaxPayloadBytes);
  EXPECT_LE(encoder->Finish(nullptr, 0, payload.data()), payload.size());
  encoder->Restart();
  EXPECT_TRUE(encoder->Add(record));
}

TEST(ColumnDecoder, DamageIsFoundAndNeverFollowed) {
  const Encoded good = Encode(RandomProgram(3, 500));
  ColumnDecoder decoder;
  std::mt19937_64 random(11);
  for (size_t i = 0; i < 4000; ++i) {
    Encoded bad = good;
    for (int flips = 0; flips < 3; ++flips) {
      bad.payload[random() % bad.payload.size()] = static_cast<uint8_t>(random());
    }
    if (i % 4 == 0) bad.payload.resize(random() % bad.payload.size());
    // Whatever it answers: under the sanitizers this must not read or write out of bounds.
    decoder.Decode(bad.payload, bad.records + 10, bad.first_time, [](const PackedRecord&) {})
        .IgnoreError();
  }
}

}  // namespace
}  // namespace gputrace::trace

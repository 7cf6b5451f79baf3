// SPDX-License-Identifier: Apache-2.0
// Definitions: every type goes through a dictionary block and comes out the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/trace/trace_writer.h"
#include "trace/dictionary_builder.h"

namespace gputrace::trace {
namespace {

using ::testing::ElementsAre;

class DictionaryTest : public ::testing::Test {
 protected:
  DictionaryTest() : buffer_(1 << 20) { encoder_.Start(buffer_.data(), buffer_.size()); }
  absl::Status Read() { return builder_.AddPayload({encoder_.data(), encoder_.size()}); }

  std::vector<uint8_t> buffer_;
  DictionaryEncoder encoder_;
  Dictionary dictionary_;
  DictionaryBuilder builder_{&dictionary_};
};

TEST_F(DictionaryTest, RoundTripsEveryType) {
  ASSERT_TRUE(encoder_.AddString(1, BytesOf("epoch 3")));
  const EntryView::Effect effect{Verb::kClose,
                                 KindBit(ObjectKind::kDevice) | KindBit(ObjectKind::kManaged)};
  const EntryView::Operand operand{BytesOf("address"), Role::kAddress, false, Predictor::kClose};
  ASSERT_TRUE(
      encoder_.AddEntry({9, BytesOf("cuMemFree_v2"), EntryClass::kRecord, true,
                         ContextSource::kCurrent, CaptureRule::kNode, &effect, 1, &operand, 1}));
  const uint64_t pcs[] = {0x7f0000001000, 0x7f0000002000, 0x400123};
  ASSERT_TRUE(encoder_.AddStack({1, 0xabc, 5, true, pcs, 3}));
  const uint64_t python_frames[] = {1, 15, 1, 0};
  ASSERT_TRUE(encoder_.AddPythonStack({1, 0xdef, false, python_frames, 2}));
  const std::string build_id("\xab\xcd\x01", 3);
  ASSERT_TRUE(encoder_.AddModule({1, BytesOf("/lib/libc.so.6"), BytesOf(build_id), 0x7f0000000000,
                                  0x7f0000200000, 0x7f0000000000, 4}));
  ASSERT_TRUE(encoder_.AddModuleUnload(1, 6));
  ASSERT_TRUE(encoder_.AddCodeObject(
      {1, 0x77, BytesOf("Model.forward"), BytesOf("train.py"), 41, 0x030b, BytesOf("lines")}));
  ASSERT_TRUE(encoder_.AddThread(1, 1234, BytesOf("python")));
  ASSERT_TRUE(encoder_.AddContext(1, 0x5555, 0));
  const uint8_t uuid[16] = {0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0, 1, 2, 3, 4, 5, 6, 7, 8};
  ASSERT_TRUE(encoder_.AddDevice(0, BytesOf("card"), uuid, 80ull << 30));
  ASSERT_TRUE(encoder_.AddAllocator(1, BytesOf("pytorch"), BytesOf("native"), 0));
  ASSERT_TRUE(encoder_.AddFact(BytesOf("pid"), BytesOf("77")));
  ASSERT_TRUE(encoder_.AddTrouble(BytesOf("disk full")));
  ASSERT_TRUE(encoder_.AddEnd(EndReason::kExit, 999));
  EXPECT_EQ(encoder_.records(), 14u);
  ASSERT_TRUE(Read().ok());

  EXPECT_EQ(dictionary_.string(1), "epoch 3");
  const EntryDescriptor* entry = dictionary_.entry(9);
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->symbol, "cuMemFree_v2");
  EXPECT_TRUE(entry->intent);
  EXPECT_EQ(entry->capture, CaptureRule::kNode);
  EXPECT_TRUE(entry->HasEffect(Verb::kClose, KindBit(ObjectKind::kManaged)));
  EXPECT_FALSE(entry->HasEffect(Verb::kOpen, KindBit(ObjectKind::kManaged)));
  EXPECT_EQ(entry->FindOperand(Role::kAddress), 0);
  EXPECT_EQ(entry->FindOperand(Role::kSize), -1);
  const Stack stack = dictionary_.stack(1);
  EXPECT_THAT(stack.pcs, ElementsAre(0x7f0000001000, 0x7f0000002000, 0x400123));
  EXPECT_EQ(stack.hash, 0xabcu);
  EXPECT_EQ(stack.epoch, 5u);
  EXPECT_TRUE(stack.truncated);
  const PythonStack& python = dictionary_.python_stack(1);
  ASSERT_EQ(python.frames.size(), 2u);
  EXPECT_EQ(python.frames[0].instruction, 14);
  EXPECT_EQ(python.frames[1].instruction, -1);
  ASSERT_EQ(dictionary_.modules().size(), 1u);
  EXPECT_EQ(dictionary_.modules()[0].build_id, "abcd01");
  EXPECT_EQ(dictionary_.modules()[0].unload_epoch, 6u);
  EXPECT_EQ(dictionary_.code_object(1).qualified_name, "Model.forward");
  EXPECT_EQ(dictionary_.code_object(1).first_line, 41u);
  EXPECT_EQ(dictionary_.thread(1).name, "python");
  EXPECT_EQ(dictionary_.context(1).handle, 0x5555u);
  ASSERT_EQ(dictionary_.devices().size(), 1u);
  EXPECT_EQ(dictionary_.devices()[0].uuid, "GPU-12345678-9abc-def0-0102-030405060708");
  EXPECT_EQ(dictionary_.allocator(1).framework, "pytorch");
  EXPECT_EQ(dictionary_.fact("pid"), "77");
  EXPECT_THAT(dictionary_.troubles(), ElementsAre("disk full"));
  EXPECT_TRUE(dictionary_.end().has_value());
}

TEST_F(DictionaryTest, StacksShareTheirOuterFrames) {
  const uint64_t first[] = {0x11, 0x22, 0x33, 0x44};
  const uint64_t second[] = {0x99, 0x33, 0x44};
  ASSERT_TRUE(encoder_.AddStack({1, 1, 0, false, first, 4}));
  const size_t before = encoder_.size();
  ASSERT_TRUE(encoder_.AddStack({2, 2, 0, false, second, 3}));
  EXPECT_LT(encoder_.size() - before, 20u);
  ASSERT_TRUE(Read().ok());
  EXPECT_THAT(dictionary_.stack(2).pcs, ElementsAre(0x99, 0x33, 0x44));
}

TEST_F(DictionaryTest, UnknownTypesAndLongerBodiesAreSkipped) {
  ASSERT_TRUE(encoder_.AddThread(1, 5, BytesOf("a")));
  std::vector<uint8_t> payload(encoder_.data(), encoder_.data() + encoder_.size());
  const std::vector<uint8_t> later = {99, 3, 1, 2, 3};
  payload.insert(payload.begin(), later.begin(), later.end());
  payload[6] += 2;  // the thread's body has two bytes more than this version knows
  payload.push_back(7);
  payload.push_back(7);
  ASSERT_TRUE(builder_.AddPayload(payload).ok());
  EXPECT_EQ(dictionary_.thread(1).tid, 5u);
}

TEST_F(DictionaryTest, LookUpsOfUnknownIdsAreEmpty) {
  EXPECT_EQ(dictionary_.string(0), "");
  EXPECT_EQ(dictionary_.string(12), "");
  EXPECT_TRUE(dictionary_.stack(3).pcs.empty());
  EXPECT_EQ(dictionary_.entry(3), nullptr);
  EXPECT_EQ(dictionary_.FindModule(1, 1), nullptr);
}

TEST_F(DictionaryTest, ModulesAtOneAddressAreToldApartByEpoch) {
  ASSERT_TRUE(encoder_.AddModule({1, BytesOf("a.so"), {}, 0x1000, 0x2000, 0x1000, 3}));
  ASSERT_TRUE(encoder_.AddModule({2, BytesOf("b.so"), {}, 0x1000, 0x2000, 0x1000, 7}));
  ASSERT_TRUE(Read().ok());
  EXPECT_EQ(dictionary_.FindModule(0x1800, 5)->path, "a.so");
  EXPECT_EQ(dictionary_.FindModule(0x1800, 7)->path, "b.so");
  EXPECT_EQ(dictionary_.FindModule(0x1800, 1)->path, "a.so");
  EXPECT_EQ(dictionary_.FindModule(0x2000, 9), nullptr);
}

TEST_F(DictionaryTest, AFullBufferRefusesAndKeepsWhatItHas) {
  encoder_.Start(buffer_.data(), 100);
  ASSERT_TRUE(encoder_.AddString(1, BytesOf("kept")));
  const std::string large(200, 'x');
  EXPECT_FALSE(encoder_.AddString(2, BytesOf(large)));
  EXPECT_EQ(encoder_.records(), 1u);
  ASSERT_TRUE(Read().ok());
  EXPECT_EQ(dictionary_.string(1), "kept");
  EXPECT_EQ(dictionary_.string(2), "");
}

TEST_F(DictionaryTest, AHugeIdIsDamageNotMemory) {
  ASSERT_TRUE(encoder_.AddString(0xfffffff0u, BytesOf("x")));
  EXPECT_EQ(Read().code(), absl::StatusCode::kDataLoss);
}

TEST_F(DictionaryTest, EveryTruncationIsRefused) {
  ASSERT_TRUE(encoder_.AddString(1, BytesOf("text")));
  const size_t first_record = encoder_.size();
  ASSERT_TRUE(encoder_.AddModule({1, BytesOf("/lib/x.so"), BytesOf("id"), 1, 2, 3, 4}));
  for (size_t size = 0; size < encoder_.size(); ++size) {
    Dictionary dictionary;
    DictionaryBuilder builder(&dictionary);
    const absl::Status status = builder.AddPayload({encoder_.data(), size});
    // A cut between two records is not visible here; the block's size is checked by its header.
    EXPECT_EQ(status.ok(), size == 0 || size == first_record) << size;
  }
}

}  // namespace
}  // namespace gputrace::trace

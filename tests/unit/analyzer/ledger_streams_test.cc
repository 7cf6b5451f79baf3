// SPDX-License-Identifier: Apache-2.0
// Memory that was freed in stream order: pending until there is evidence.
#include "tests/unit/analyzer/ledger_fixture.h"

namespace gputrace {
namespace {

using ledger::Account;
using trace::KindBit;
using trace::ObjectKind;
using trace::Role;
using trace::Verb;

constexpr uint64_t kNonBlocking = 1;
constexpr uint64_t kLegacy = 0;
constexpr uint64_t kPerThread = 2;

class StreamLedger : public LedgerFixture {
 protected:
  StreamLedger() {
    const uint64_t streams = KindBit(ObjectKind::kStream);
    const uint64_t events = KindBit(ObjectKind::kEvent);
    const uint64_t contexts = KindBit(ObjectKind::kContext);
    const OperandSpec stream{Role::kStream};
    const OperandSpec event{Role::kEvent};
    AddEntry("create_stream", {{Verb::kOpen, streams}}, {{Role::kFlags}, {Role::kStream, true}});
    AddEntry("destroy_stream", {{Verb::kClose, streams}}, {stream}, true);
    AddEntry("sync", {{Verb::kSync, streams}}, {stream});
    AddEntry("sync_context", {{Verb::kSync, contexts}}, {});
    AddEntry("sync_event", {{Verb::kSync, events}}, {event});
    AddEntry("record", {{Verb::kSet, events}}, {event, stream});
    AddEntry("wait", {{Verb::kWait, events}}, {stream, event});
    AddEntry("begin_capture", {{Verb::kCaptureBegin, streams}}, {stream});
    AddEntry("end_capture", {{Verb::kCaptureEnd, streams}}, {stream});
    AddEntry("destroy_context", {{Verb::kClose, contexts}}, {{Role::kContext}}, true);
    for (uint64_t handle : {kA, kB}) Call("create_stream", {kNonBlocking, handle});
    Call("create_stream", {0, kBlocking});
  }
  void AllocateAndFree(uint64_t address, uint64_t on) {
    Call("alloc_async", {100, on, 0, address});
    Intent("free_async", {address, on, 0});
  }
  uint64_t pending() { return account(Account::kPoolPending).current; }

  static constexpr uint64_t kA = 0xa0;
  static constexpr uint64_t kB = 0xb0;
  static constexpr uint64_t kBlocking = 0xc0;
  static constexpr uint64_t kEvent = 0xe0;
};

TEST_F(StreamLedger, SynchronisingTheStreamIsEvidence) {
  AllocateAndFree(0x1000, kA);
  EXPECT_EQ(pending(), 100u);
  EXPECT_EQ(account(Account::kPoolUsed).current, 0u);
  EXPECT_EQ(account(Account::kPoolPending, 0).current, 100u);
  Call("sync", {kB});
  Call("sync", {kLegacy});
  EXPECT_EQ(pending(), 100u) << "streams that do not block are in no order with others";
  Call("sync", {kA}, 700);
  EXPECT_EQ(pending(), 100u) << "a failure says nothing";
  Call("sync", {kA});
  EXPECT_EQ(pending(), 0u);
  EXPECT_EQ(account(Account::kPoolPending).frees, 1u);
}

TEST_F(StreamLedger, SoIsItsContext) {
  AllocateAndFree(0x1000, kA);
  context_ = 2;
  Call("sync_context", {});
  EXPECT_EQ(pending(), 100u);
  context_ = 1;
  Call("sync_context", {});
  EXPECT_EQ(pending(), 0u);
}

TEST_F(StreamLedger, AndAnEventAfterTheFree) {
  Call("record", {kEvent, kA});
  AllocateAndFree(0x1000, kA);
  Call("sync_event", {kEvent});
  EXPECT_EQ(pending(), 100u);
  Call("record", {kEvent, kA});
  AllocateAndFree(0x2000, kA);
  Call("sync_event", {kEvent});
  EXPECT_EQ(pending(), 100u) << "the second free is after the event";
}

TEST_F(StreamLedger, WaitsHandEvidenceOn) {
  AllocateAndFree(0x1000, kA);
  Call("record", {kEvent, kA});
  Call("wait", {kB, kEvent});
  EXPECT_EQ(pending(), 100u);
  Call("sync", {kB});
  EXPECT_EQ(pending(), 0u);
}

TEST_F(StreamLedger, AWaitBeforeTheFreeDoesNot) {
  Call("record", {kEvent, kA});
  Call("wait", {kB, kEvent});
  AllocateAndFree(0x1000, kA);
  Call("sync", {kB});
  EXPECT_EQ(pending(), 100u);
}

TEST_F(StreamLedger, WhatIsCapturedDidNotHappen) {
  AllocateAndFree(0x1000, kA);
  Call("begin_capture", {kA});
  Call("record", {kEvent, kA});
  Call("wait", {kB, kEvent});
  Call("end_capture", {kA});
  Call("sync", {kB});
  EXPECT_EQ(pending(), 100u);
  Call("record", {kEvent, kA});
  Call("sync_event", {kEvent});
  EXPECT_EQ(pending(), 0u);
}

TEST_F(StreamLedger, TheLegacyStreamWaitsForBlockingOnesAndTheyForIt) {
  AllocateAndFree(0x1000, kBlocking);
  AllocateAndFree(0x2000, kA);
  Call("sync", {kLegacy});
  EXPECT_EQ(pending(), 100u);
  Call("sync", {kA});
  AllocateAndFree(0x3000, kLegacy);
  Call("sync", {kBlocking});
  EXPECT_EQ(pending(), 0u);
  AllocateAndFree(0x4000, kPerThread);
  Call("sync", {kLegacy});
  EXPECT_EQ(pending(), 0u);
}

TEST_F(StreamLedger, DefaultStreamsArePerContextAndPerThread) {
  AllocateAndFree(0x1000, kLegacy);
  AllocateAndFree(0x2000, kPerThread);
  time_ns_ += 5000;
  thread_ = 2;
  Call("sync", {kPerThread});
  EXPECT_EQ(pending(), 100u) << "of this thread; but it is ordered with the legacy one";
  context_ = 2;
  thread_ = 1;
  Call("sync", {kPerThread});
  Call("sync", {kLegacy});
  EXPECT_EQ(pending(), 100u);
}

TEST_F(StreamLedger, StreamsThatWereNotSeenHaveNoImplicitOrder) {
  AllocateAndFree(0x1000, 0xdead);
  Call("sync", {kLegacy});
  EXPECT_EQ(pending(), 100u);
  Call("sync", {0xdead});
  EXPECT_EQ(pending(), 0u);
}

TEST_F(StreamLedger, ANewStreamWithTheOldHandleIsAnother) {
  AllocateAndFree(0x1000, kA);
  Intent("destroy_stream", {kA});
  Call("create_stream", {kNonBlocking, kA});
  Call("sync", {kA});
  EXPECT_EQ(pending(), 100u);
  Call("sync_context", {});
  EXPECT_EQ(pending(), 0u);
}

TEST_F(StreamLedger, MemoryThatIsHandedOutAgainIsNotPending) {
  Call("alloc_async", {100, kA, 0, 0x1000});
  Intent("free_async", {0x1000, kA, 0});
  Call("alloc_async", {30, kA, 0, 0x1000 + 10});
  EXPECT_EQ(pending(), 70u);
  EXPECT_EQ(account(Account::kPoolUsed).current, 30u);
  Call("alloc_async", {200, kA, 0, 0x1000 + 40});
  EXPECT_EQ(pending(), 10u);
  Call("alloc_async", {10, kA, 0, 0x1000});
  EXPECT_EQ(pending(), 0u);
  EXPECT_EQ(account(Account::kPoolPending).frees, 1u);
}

TEST_F(StreamLedger, OneAllocationMayTakeSeveralPendingBlocks) {
  for (uint64_t address : {0x1000, 0x1064, 0x10c8}) AllocateAndFree(address, kA);
  EXPECT_EQ(pending(), 300u);
  Call("alloc_async", {200, kA, 0, 0x1000 + 50});
  EXPECT_EQ(pending(), 100u);
  Call("sync", {kA});
  EXPECT_EQ(pending(), 0u);
}

TEST_F(StreamLedger, AFailedFreeWasNeverPending) {
  Call("alloc_async", {100, kA, 0, 0x1000});
  Intent("free_async", {0x1000, kA, 0});
  Complete("free_async", 700);
  EXPECT_EQ(pending(), 0u);
  EXPECT_EQ(account(Account::kPoolPending).allocs, 0u);
  EXPECT_EQ(account(Account::kPoolUsed).current, 100u);
}

TEST_F(StreamLedger, OtherFreesWaitByThemselves) {
  Call("alloc_async", {100, kA, 0, 0x1000});
  Intent("free", {0x1000});
  Call("alloc", {100, 0x2000});
  Intent("free_async", {0x2000, kA, 0});
  EXPECT_EQ(pending(), 0u);
}

TEST_F(StreamLedger, AFreeDuringTheWaitOfAnotherThreadIsNotCovered) {
  AllocateAndFree(0x1000, kA);
  time_ns_ += 5000;
  thread_ = 2;
  AllocateAndFree(0x2000, kA);
  thread_ = 1;
  Call("sync", {kA});  // ends within a microsecond of it
  EXPECT_EQ(pending(), 100u);
  time_ns_ += 5000;
  Call("sync", {kA});
  EXPECT_EQ(pending(), 0u);
}

}  // namespace
}  // namespace gputrace

// SPDX-License-Identifier: Apache-2.0
// Memory that has an address: device, managed, host, pool blocks.
#include "tests/unit/analyzer/ledger_fixture.h"

namespace gputrace {
namespace {

using ledger::Account;

class LinearLedger : public LedgerFixture {};

TEST_F(LinearLedger, CountsWhatIsHeldAndTheMostThatWas) {
  Call("alloc", {100, 0x1000});
  Call("alloc", {200, 0x2000});
  Intent("free", {0x1000});
  Call("alloc", {50, 0x3000});
  EXPECT_EQ(account(Account::kDevice).current, 250u);
  EXPECT_EQ(account(Account::kDevice).peak, 300u);
  EXPECT_EQ(account(Account::kDevice).peak_time_ns, 20);
  EXPECT_EQ(account(Account::kDevice).allocs, 3u);
  EXPECT_EQ(account(Account::kDevice).frees, 1u);
  EXPECT_EQ(ledger().live(), 2u);
}

TEST_F(LinearLedger, FailedAllocationsAreCountedNotApplied) {
  Call("alloc", {1000}, kOutOfMemory);
  EXPECT_EQ(account(Account::kDevice).failed, 1u);
  EXPECT_EQ(account(Account::kDevice, 0).failed, 1u);
  EXPECT_EQ(account(Account::kDevice).current, 0u);
  EXPECT_EQ(account(Account::kDevice).allocs, 0u);
  EXPECT_EQ(ledger().live(), 0u);
}

TEST_F(LinearLedger, TheDeviceIsTheContexts) {
  Call("alloc", {100, 0x1000});
  context_ = 2;
  Call("alloc", {30, 0x2000});
  context_ = 0;
  Call("alloc", {7, 0x3000});
  EXPECT_EQ(account(Account::kDevice, 0).current, 100u);
  EXPECT_EQ(account(Account::kDevice, 1).current, 30u);
  EXPECT_EQ(account(Account::kDevice, ledger::kHost).current, 7u);
  EXPECT_EQ(statistics().device(1)->total.current, 30u);
}

TEST_F(LinearLedger, PitchedMemoryHasTheSizeThatCameOut) {
  Call("alloc_pitch", {100, 4, 2048, 0x1000, 512});
  EXPECT_EQ(account(Account::kDevice).current, 2048u);
}

TEST_F(LinearLedger, AccountsAreKeptApart) {
  Call("alloc_managed", {10, 1, 0x1000});
  Call("alloc_host", {20, 0x2000});
  Call("register_host", {40, 0x3000});
  Call("alloc_async", {80, 0, 0, 0x4000});
  EXPECT_EQ(account(Account::kManaged).current, 10u);
  EXPECT_EQ(account(Account::kManaged, 0).current, 10u);
  EXPECT_EQ(account(Account::kPinned, ledger::kHost).current, 20u);
  EXPECT_EQ(account(Account::kRegistered).current, 40u);
  EXPECT_EQ(account(Account::kPoolUsed, 0).current, 80u);
  EXPECT_EQ(account(Account::kDevice).current, 0u);
  Intent("free", {0x1000});
  Intent("free_host", {0x2000});
  Intent("unregister_host", {0x3000});
  Intent("free_async", {0x4000, 0, 0});
  EXPECT_EQ(ledger().live(), 0u);
  EXPECT_EQ(ledger().counters().unknown_frees, 0u);
}

TEST_F(LinearLedger, AnyFunctionForDevicePointersFreesThem) {
  Call("alloc_async", {80, 0, 0, 0x1000});
  Intent("free", {0x1000});
  Call("alloc", {40, 0x2000});
  Intent("free_async", {0x2000, 0, 0});
  EXPECT_EQ(account(Account::kPoolUsed).frees, 1u);
  EXPECT_EQ(account(Account::kDevice).frees, 1u);
  EXPECT_EQ(ledger().live(), 0u);
}

TEST_F(LinearLedger, AFunctionForHostPointersDoesNotFreeDevicePointers) {
  Call("alloc", {40, 0x1000});
  Intent("free_host", {0x1000});
  EXPECT_EQ(ledger().live(), 1u);
  EXPECT_EQ(ledger().counters().unknown_frees, 1u);
}

TEST_F(LinearLedger, FreeingNothingDoesNothing) {
  Intent("free", {0});
  EXPECT_EQ(ledger().counters().unknown_frees, 0u);
}

TEST_F(LinearLedger, UnknownFreesAreCounted) {
  Intent("free", {0x1000});
  Intent("free", {0x2000});
  EXPECT_EQ(ledger().counters().unknown_frees, 2u);
}

TEST_F(LinearLedger, AFailedFreeIsTakenBack) {
  Call("alloc", {100, 0x1000});
  Intent("free", {0x1000});
  EXPECT_EQ(account(Account::kDevice).current, 0u);
  Complete("free", 700);
  EXPECT_EQ(account(Account::kDevice).current, 100u);
  EXPECT_EQ(account(Account::kDevice).frees, 0u);
  EXPECT_EQ(account(Account::kDevice).allocs, 1u);
  EXPECT_EQ(ledger().counters().failed_frees, 1u);
  Intent("free", {0x1000});
  EXPECT_EQ(ledger().live(), 0u);
  EXPECT_EQ(ledger().counters().unknown_frees, 0u);
}

TEST_F(LinearLedger, AFailedUnknownFreeIsNoUnknownFree) {
  Intent("free", {0x1000});
  Complete("free", 1);
  EXPECT_EQ(ledger().counters().unknown_frees, 0u);
}

TEST_F(LinearLedger, IntentsOfThreadsDoNotMix) {
  Call("alloc", {100, 0x1000});
  Call("alloc", {10, 0x2000});
  thread_ = 1;
  Intent("free", {0x1000});
  thread_ = 2;
  Intent("free", {0x2000});
  thread_ = 1;
  Complete("free", 700);
  EXPECT_EQ(account(Account::kDevice).current, 100u);
}

TEST_F(LinearLedger, ACompletionThatOnlyTellsTheDurationChangesNothing) {
  Call("alloc", {100, 0x1000});
  Intent("free", {0x1000});
  Complete("free", 0);
  EXPECT_EQ(ledger().live(), 0u);
}

TEST_F(LinearLedger, ACompletionWithoutIntentIsMalformed) {
  Complete("free", 700);
  EXPECT_EQ(ledger().counters().malformed, 1u);
}

TEST_F(LinearLedger, AddressesAreReused) {
  for (int i = 0; i < 3; ++i) {
    Call("alloc", {100, 0x1000});
    Intent("free", {0x1000});
  }
  EXPECT_EQ(account(Account::kDevice).peak, 100u);
  EXPECT_EQ(ledger().counters().unseen_frees, 0u);
  EXPECT_EQ(ledger().slots().size(), 1u);
}

TEST_F(LinearLedger, AnAddressThatComesTwiceWasFreedUnseen) {
  Call("alloc", {100, 0x1000});
  Call("alloc", {10, 0x1000});
  EXPECT_EQ(account(Account::kDevice).current, 10u);
  EXPECT_EQ(account(Account::kDevice).frees, 1u);
  EXPECT_EQ(ledger().counters().unseen_frees, 1u);
}

TEST_F(LinearLedger, BaseStateDoesNotCountTwice) {
  Call("alloc", {100, 0x1000});
  flags_ = trace::kFlagBaseState;
  Call("alloc", {100, 0x1000});
  EXPECT_EQ(account(Account::kDevice).allocs, 1u);
  EXPECT_EQ(ledger().counters().unseen_frees, 0u);
}

TEST_F(LinearLedger, NothingIsAllocatedDuringCapture) {
  Call("alloc_async", {100, 5, 77, 0x1000});
  EXPECT_EQ(ledger().live(), 0u);
  EXPECT_EQ(account(Account::kPoolUsed).allocs, 0u);
  // A node of the graph again; then memory that a launched graph left behind.
  Intent("free_async", {0x1000, 5, 77});
  Intent("free_async", {0x1000, 5, 0});
  EXPECT_EQ(ledger().counters().unknown_frees, 0u);
}

TEST_F(LinearLedger, ShortRecordsAreMalformed) {
  Call("alloc", {100});
  Intent("free", {});
  EXPECT_EQ(ledger().counters().malformed, 2u);
  EXPECT_EQ(ledger().live(), 0u);
}

TEST_F(LinearLedger, EntriesThatTheTraceDoesNotDescribeAreCounted) {
  trace::Record record;
  record.entry = 999;
  ledger().Apply(record);
  EXPECT_EQ(ledger().counters().unknown_entries, 1u);
}

TEST_F(LinearLedger, DamagedIdsCountAsUnknown) {
  context_ = 4'000'000'000;
  thread_ = 4'000'000'000;
  native_stack_ = 4'000'000'000;
  Call("alloc", {100, 0x1000});
  Intent("free", {0x1000});
  Complete("free", 1);
  EXPECT_EQ(account(Account::kDevice, ledger::kHost).current, 100u);
  ASSERT_EQ(sites_.size(), 1u);
  EXPECT_EQ(sites_[0].native_stack, 0u);
}

}  // namespace
}  // namespace gputrace

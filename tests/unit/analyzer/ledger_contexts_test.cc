// SPDX-License-Identifier: Apache-2.0
// What ends with a context, and what does not.
#include "tests/unit/analyzer/ledger_fixture.h"

namespace gputrace {
namespace {

using ledger::Account;
using trace::KindBit;
using trace::ObjectKind;
using trace::Role;
using trace::Verb;

class ContextLedger : public LedgerFixture {
 protected:
  ContextLedger() {
    const OperandSpec device{Role::kDevice};
    const OperandSpec context{Role::kContext};
    const OperandSpec new_context{Role::kContext, true};
    const uint64_t created = KindBit(ObjectKind::kContext);
    const uint64_t primary = KindBit(ObjectKind::kPrimaryContext);
    const trace::Effect sets{Verb::kSetCurrent, created};
    AddEntry("create", {{Verb::kOpen, created}, sets}, {{Role::kFlags}, device, new_context});
    AddEntry("destroy", {{Verb::kClose, created}, sets}, {context}, true);
    AddEntry("attach", {{Verb::kRetain, created}}, {{Role::kFlags}, new_context});
    AddEntry("detach", {{Verb::kRelease, created}, sets}, {context}, true);
    AddEntry("retain", {{Verb::kRetain, primary}}, {device, new_context});
    AddEntry("release", {{Verb::kRelease, primary}, sets}, {device}, true);
    AddEntry("reset", {{Verb::kReset, primary}, sets}, {device}, true);
    const uint64_t green = KindBit(ObjectKind::kGreenContext);
    AddEntry("create_green", {{Verb::kOpen, green}}, {device, {Role::kFlags}, new_context});
    AddEntry("destroy_green", {{Verb::kClose, green}}, {context}, true);
    AddEntry("from_green", {{Verb::kQuery, green}}, {context, new_context});
    AddEntry("load_module", {{Verb::kOpen, KindBit(ObjectKind::kModule)}},
             {{Role::kSize}, {Role::kModule, true}});
    AddEntry("create_array", {{Verb::kOpen, KindBit(ObjectKind::kArray)}},
             {{Role::kValue}, {Role::kSize, true}, {Role::kArray, true}});
    AddEntry("destroy_array", {{Verb::kClose, KindBit(ObjectKind::kArray)}}, {{Role::kArray}},
             true);
    AddEntry("create_memory", {{Verb::kOpen, KindBit(ObjectKind::kVmmHandle)}},
             {{Role::kSize}, {Role::kLocationType}, {Role::kLocation}, {Role::kHandle, true}});
    AddEntry("create_green_stream", {{Verb::kOpen, KindBit(ObjectKind::kStream)}},
             {context, {Role::kFlags}, {Role::kStream, true}});
    AddEntry("create_stream", {{Verb::kOpen, KindBit(ObjectKind::kStream)}},
             {{Role::kFlags}, {Role::kStream, true}});
  }

  void AllocateOfEachKind() {
    Call("alloc", {1, 0x1000});
    Call("alloc_managed", {2, 1, 0x2000});
    Call("alloc_host", {4, 0x3000});
    Call("register_host", {8, 0x4000});
    Call("create_array", {0, 16, 0x5000});
    Call("load_module", {32, 0x6000});
    Call("create_stream", {0, 0x7000});
    Call("alloc_async", {64, 0, 0, 0x8000});
    Call("create_memory", {128, 1, 0, 0x9000});
  }
  void ExpectOnlyWhatSurvives() {
    for (Account gone :
         {Account::kDevice, Account::kManaged, Account::kPinned, Account::kRegistered,
          Account::kArray, Account::kModule, Account::kStream, Account::kContext}) {
      EXPECT_EQ(account(gone).count, 0u) << ledger::AccountName(gone);
      EXPECT_EQ(account(gone).frees, 1u) << ledger::AccountName(gone);
    }
    EXPECT_EQ(account(Account::kPoolUsed).current, 64u);
    EXPECT_EQ(account(Account::kVmm).current, 128u);
  }
};

TEST_F(ContextLedger, DestroyingAContextFreesWhatIsInIt) {
  Call("create", {0, 0, kContext0});
  AllocateOfEachKind();
  Intent("destroy", {kContext0});
  ExpectOnlyWhatSurvives();
}

TEST_F(ContextLedger, AFailedDestroyIsTakenBack) {
  Call("create", {0, 0, kContext0});
  AllocateOfEachKind();
  Intent("destroy", {kContext0});
  Complete("destroy", 1);
  EXPECT_EQ(account(Account::kDevice).current, 1u);
  EXPECT_EQ(account(Account::kRegistered).current, 8u);
  EXPECT_EQ(account(Account::kContext).count, 1u);
  EXPECT_EQ(account(Account::kContext).frees, 0u);
  Intent("destroy", {kContext0});
  ExpectOnlyWhatSurvives();
}

TEST_F(ContextLedger, OtherContextsKeepTheirMemory) {
  Call("create", {0, 0, kContext0});
  Call("create", {0, 1, kContext1});
  Call("alloc", {1, 0x1000});
  context_ = 2;
  Call("alloc", {2, 0x2000});
  Intent("destroy", {kContext0});
  EXPECT_EQ(account(Account::kDevice, 0).current, 0u);
  EXPECT_EQ(account(Account::kDevice, 1).current, 2u);
}

TEST_F(ContextLedger, TheLastReleaseOfThePrimaryContextFrees) {
  Call("retain", {0, kContext0});
  Call("retain", {0, kContext0});
  AllocateOfEachKind();
  Intent("release", {0});
  EXPECT_EQ(account(Account::kDevice).current, 1u);
  Intent("release", {0});
  ExpectOnlyWhatSurvives();
}

TEST_F(ContextLedger, AFailedReleaseKeepsTheReference) {
  Call("retain", {0, kContext0});
  Call("retain", {0, kContext0});
  Call("alloc", {1, 0x1000});
  Intent("release", {0});
  Complete("release", 1);
  Intent("release", {0});
  EXPECT_EQ(account(Account::kDevice).current, 1u);
  Intent("release", {0});
  Complete("release", 1);
  EXPECT_EQ(account(Account::kDevice).current, 1u);
  Intent("release", {0});
  EXPECT_EQ(account(Account::kDevice).current, 0u);
}

TEST_F(ContextLedger, ResettingThePrimaryContextFreesAtOnce) {
  Call("retain", {0, kContext0});
  Call("retain", {0, kContext0});
  AllocateOfEachKind();
  Intent("reset", {0});
  ExpectOnlyWhatSurvives();
}

TEST_F(ContextLedger, ThePrimaryContextLivesAgain) {
  Call("retain", {0, kContext0});
  Call("alloc", {1, 0x1000});
  Intent("reset", {0});
  Call("retain", {0, kContext0});
  Call("alloc", {2, 0x1000});
  EXPECT_EQ(account(Account::kDevice).current, 2u);
  Intent("release", {0});
  EXPECT_EQ(account(Account::kDevice).current, 0u);
  EXPECT_EQ(ledger().counters().unseen_frees, 0u);
}

TEST_F(ContextLedger, AContextWhoseCreationWasNotSeenIsThePrimaryOne) {
  Call("alloc", {1, 0x1000});
  Intent("reset", {0});
  EXPECT_EQ(account(Account::kDevice).current, 0u);
}

TEST_F(ContextLedger, AReleaseWithoutAReferenceEndsNothing) {
  Call("alloc", {1, 0x1000});
  Intent("release", {0});
  EXPECT_EQ(account(Account::kDevice).current, 1u);
}

TEST_F(ContextLedger, AHandleOfADestroyedContextMayNameANewOne) {
  Call("create", {0, 0, kContext0});
  Intent("destroy", {kContext0});
  Call("create", {0, 1, kContext0});
  Call("alloc", {1, 0x1000});
  EXPECT_EQ(account(Account::kDevice, 1).current, 1u);
  Intent("destroy", {kContext0});
  EXPECT_EQ(account(Account::kDevice).current, 0u);
}

TEST_F(ContextLedger, AttachedContextsEndWithTheLastDetach) {
  Call("create", {0, 0, kContext0});
  Call("attach", {0, kContext0});
  Call("alloc", {1, 0x1000});
  Intent("detach", {kContext0});
  EXPECT_EQ(account(Account::kDevice).current, 1u);
  Intent("detach", {kContext0});
  EXPECT_EQ(account(Account::kDevice).current, 0u);
}

TEST_F(ContextLedger, GreenContextsHoldThePrimaryOne) {
  Call("create_green", {0, 0, 0x99});
  Call("from_green", {0x99, kContext0});
  Call("retain", {0, 0xdd});
  Call("alloc", {1, 0x1000});
  Intent("release", {0});
  EXPECT_EQ(account(Account::kDevice, 0).current, 1u);
  Intent("destroy_green", {0x99});
  EXPECT_EQ(account(Account::kDevice, 0).current, 0u);
}

TEST_F(ContextLedger, GreenContextsMakeThePrimaryOne) {
  Call("retain", {1, kContext1});
  Intent("release", {1});
  context_ = 1;
  Call("create_green", {1, 0, 0x99});
  EXPECT_EQ(account(Account::kContext, 1).count, 2u) << "itself, and the primary context";
  Intent("destroy_green", {0x99});
  EXPECT_EQ(account(Account::kContext, 1).count, 0u);
}

TEST_F(ContextLedger, StreamsOfGreenContextsAreOfThePrimaryOne) {
  Call("retain", {0, kContext0});
  Call("retain", {1, kContext1});
  context_ = 1;
  Call("create_green", {1, 0, 0x99});
  Call("create_green_stream", {0x99, 0, 0x7000});
  EXPECT_EQ(account(Account::kStream, 1).count, 1u);
  Intent("reset", {0});
  EXPECT_EQ(account(Account::kStream).count, 1u);
  Intent("reset", {1});
  EXPECT_EQ(account(Account::kStream).count, 0u);
}

TEST_F(ContextLedger, ArraysEndByTheirHandle) {
  Call("create_array", {0, 16, 0x5000});
  Call("create_array", {0, 16, 0x5001});
  Intent("destroy_array", {0x5000});
  Intent("destroy_array", {0x5002});
  EXPECT_EQ(account(Account::kArray, 0).current, 16u);
  EXPECT_EQ(ledger().counters().unknown_frees, 1u);
}

}  // namespace
}  // namespace gputrace

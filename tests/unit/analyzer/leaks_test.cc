// SPDX-License-Identifier: Apache-2.0
// What is found to be left, and with which evidence.
#include "analyzer/analyses/leaks.h"

#include "tests/unit/analyzer/ledger_fixture.h"

namespace gputrace {
namespace {

using analyses::Fate;
using analyses::Finding;
using ledger::Account;
using trace::KindBit;
using trace::ObjectKind;
using trace::Role;
using trace::Verb;

constexpr int32_t kInvalidContext = 201;
constexpr int32_t kDeinitialized = 4;

class LeakFindings : public LedgerFixture {
 protected:
  LeakFindings() : leaks_({.accounts = ~ledger::AccountSet{0}, .device = {}}) {
    const uint64_t handles = KindBit(ObjectKind::kVmmHandle);
    const uint64_t imports = KindBit(ObjectKind::kIpcImport);
    const OperandSpec handle{Role::kHandle};
    AddEntry("create", {{Verb::kOpen, handles}},
             {{Role::kSize}, {Role::kLocationType}, {Role::kLocation}, {Role::kHandle, true}});
    AddEntry("release", {{Verb::kRelease, handles}}, {handle}, true);
    AddEntry("map", {{Verb::kMap, KindBit(ObjectKind::kMapping)}},
             {{Role::kSize}, {Role::kAddress}, {Role::kOffset}, handle});
    AddEntry("unmap", {{Verb::kUnmap, KindBit(ObjectKind::kMapping)}},
             {{Role::kAddress}, {Role::kSize}}, true);
    AddEntry("export_fd", {{Verb::kExport, handles}}, {handle, {Role::kFd, true}});
    AddEntry("import_fd", {{Verb::kOpen, handles | imports}}, {{Role::kFd}, {Role::kHandle, true}});
    AddEntry("export_ipc", {{Verb::kExport, KindBit(ObjectKind::kDevice)}},
             {{Role::kAddress}, {Role::kIpcHandle, true}});
    AddEntry("import_ipc", {{Verb::kOpen, imports}}, {{Role::kIpcHandle}, {Role::kAddress, true}});
    AddEntry("import_pointer", {{Verb::kOpen, imports}},
             {{Role::kPool}, {Role::kIpcHandle}, {Role::kAddress, true}});
    AddEntry("instantiate", {{Verb::kOpen, KindBit(ObjectKind::kGraphExec)}},
             {{Role::kGraph}, {Role::kGraphExec, true}});
    AddEntry("launch", {{Verb::kLaunch, KindBit(ObjectKind::kGraphExec)}},
             {{Role::kGraphExec}, {Role::kStream}, {Role::kCapture}});
    AddEntry("retain", {{Verb::kRetain, KindBit(ObjectKind::kPrimaryContext)}},
             {{Role::kDevice}, {Role::kContext, true}});
    AddEntry("load", {{Verb::kOpen, KindBit(ObjectKind::kModule)}},
             {{Role::kSize}, {Role::kModule, true}});
    Observe(&leaks_);
  }
  std::vector<Finding> Find() { return leaks_.Findings({&ledger()}, nullptr); }

 private:
  analyses::Leaks leaks_;
};

TEST_F(LeakFindings, MemoryThatLacksDifferentCallsIsApart) {
  for (uint64_t handle = 1; handle <= 6; ++handle) Call("create", {100, 1, 0, handle});
  Call("map", {100, 0x1000, 0, 1});
  Call("map", {100, 0x2000, 0, 2});
  Call("map", {100, 0x3000, 0, 3});
  Intent("release", {3});
  const std::vector<Finding> findings = Find();
  ASSERT_EQ(findings.size(), 3u);
  EXPECT_EQ(findings[0].count, 3u);
  EXPECT_EQ(findings[0].missing_call, "cuMemRelease");
  EXPECT_EQ(findings[0].mappings, 0u);
  EXPECT_EQ(findings[1].count, 2u);
  EXPECT_EQ(findings[1].missing_call, "cuMemRelease");
  EXPECT_EQ(findings[1].mappings, 1u);
  EXPECT_EQ(findings[2].count, 1u);
  EXPECT_EQ(findings[2].missing_call, "cuMemUnmap");
}

TEST_F(LeakFindings, RefusedFreesAreEvidence) {
  Call("alloc", {100, 0x1000});
  native_stack_ = 7;
  for (int i = 0; i < 3; ++i) {
    Intent("free", {0x1000});
    Complete("free", kInvalidContext);
  }
  const std::vector<Finding> findings = Find();
  ASSERT_EQ(findings.size(), 1u);
  ASSERT_EQ(findings[0].refusals.size(), 1u);
  EXPECT_EQ(findings[0].refusals[0].count, 3u);
  EXPECT_EQ(findings[0].refusals[0].result, kInvalidContext);
  EXPECT_EQ(sites_[findings[0].refusals[0].site].native_stack, 7u);
  EXPECT_EQ(findings[0].site_frees, 0u);
  Intent("free", {0x1000});
  EXPECT_TRUE(Find().empty());
}

TEST_F(LeakFindings, RefusedUnmappingsAreEvidenceOfTheMemory) {
  Call("create", {100, 1, 0, 1});
  Call("map", {100, 0x1000, 0, 1});
  Intent("unmap", {0x1000, 300});
  Complete("unmap", 1);
  const std::vector<Finding> findings = Find();
  ASSERT_EQ(findings.size(), 1u);
  ASSERT_EQ(findings[0].refusals.size(), 1u);
  EXPECT_EQ(findings[0].refusals[0].count, 1u);
}

TEST_F(LeakFindings, WhatIsFreedAfterTheDriverHasGoneIsNotAlive) {
  Call("alloc", {100, 0x1000});
  Intent("free", {0x1000});
  Complete("free", kDeinitialized);
  const std::vector<Finding> findings = Find();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].fate, Fate::kFreedAtShutdown);
  EXPECT_EQ(findings[0].site_frees, 0u);
  EXPECT_EQ(account(Account::kDevice).current, 0u);
  EXPECT_EQ(ledger().counters().failed_frees, 0u);
}

TEST_F(LeakFindings, AnImportOfTheOwnExportIsAReference) {
  Call("create", {100, 1, 0, 0xa});
  Call("map", {100, 0x1000, 0, 0xa});
  Call("export_fd", {0xa, 5});
  Intent("release", {0xa});
  Call("import_fd", {5, 0xa});
  Intent("unmap", {0x1000, 100});
  EXPECT_EQ(account(Account::kVmm).current, 100u);
  EXPECT_EQ(account(Account::kAlias).allocs, 0u);
  Intent("release", {0xa});
  EXPECT_EQ(account(Account::kVmm).current, 0u);
}

TEST_F(LeakFindings, ADescriptorOfAnotherProcessMayHaveTheSameNumber) {
  Call("create", {100, 1, 0, 0xa});
  Call("map", {100, 0x1000, 0, 0xa});
  Call("export_fd", {0xa, 5});
  Intent("release", {0xa});
  Call("import_fd", {5, 0xb});
  EXPECT_EQ(account(Account::kAlias).count, 1u);
}

TEST_F(LeakFindings, ImportsAreAsLargeAsWhatWasExported) {
  ledger::ShareTable shares;
  SetShares(&shares);
  Call("alloc", {100, 0x1000});
  Call("export_ipc", {0x1000, 0x77});
  Call("import_ipc", {0x77, 0x5000});  // as if by another process
  Call("import_ipc", {0x78, 0x6000});
  EXPECT_EQ(account(Account::kAlias, 0).current, 100u);
  EXPECT_EQ(account(Account::kAlias).count, 2u);
  for (const Finding& finding : Find()) {
    if (finding.account != Account::kAlias) continue;
    EXPECT_EQ(finding.missing_call, "cuIpcCloseMemHandle");
    EXPECT_NE(finding.origin, 0u);
  }
}

TEST_F(LeakFindings, PointersImportedIntoPoolsAreFreed) {
  Call("import_pointer", {0xf00, 0x77, 0x5000});
  EXPECT_EQ(Find().at(0).missing_call, "cuMemFreeAsync");
}

TEST_F(LeakFindings, ObjectsNameTheirCalls) {
  Call("instantiate", {1, 0xe});
  Call("launch", {0xe, 0, 0});
  Call("launch", {0xe, 0, 0});
  Call("launch", {0xe, 0, 99});  // captured into another graph
  std::vector<Finding> findings = Find();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].missing_call, "cuGraphExecDestroy");
  EXPECT_EQ(findings[0].launches, 2u);
}

TEST_F(LeakFindings, AContextBesideTheUsedOnesIsStray) {
  context_ = 2;
  Call("retain", {1, kContext1});
  context_ = 1;
  Call("retain", {0, kContext0});
  for (const Finding& finding : Find()) EXPECT_FALSE(finding.is_stray);
  context_ = 2;
  Call("alloc", {100, 0x1000});
  size_t stray = 0;
  for (const Finding& finding : Find()) {
    if (!finding.is_stray) continue;
    ++stray;
    EXPECT_EQ(finding.device, 0);
    EXPECT_EQ(finding.missing_call, "cuDevicePrimaryCtxRelease");
  }
  EXPECT_EQ(stray, 1u);
}

TEST_F(LeakFindings, UnknownFreesHaveAStack) {
  native_stack_ = 9;
  Intent("free", {0x1000});
  Intent("free", {0x2000});
  Complete("free", 1);
  ASSERT_EQ(ledger().unknown_frees().size(), 1u);
  const auto& [key, count] = *ledger().unknown_frees().begin();
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(sites_[key.second].native_stack, 9u);
}

}  // namespace
}  // namespace gputrace

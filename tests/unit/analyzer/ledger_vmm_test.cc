// SPDX-License-Identifier: Apache-2.0
// Reference-counted memory, imports, address ranges, pools and samples.
#include "tests/unit/analyzer/ledger_fixture.h"

namespace gputrace {
namespace {

using ledger::Account;
using trace::KindBit;
using trace::ObjectKind;
using trace::Role;
using trace::Verb;

class VmmLedger : public LedgerFixture {
 protected:
  VmmLedger() {
    const uint64_t handles = KindBit(ObjectKind::kVmmHandle);
    const uint64_t mappings = KindBit(ObjectKind::kMapping);
    const uint64_t ranges = KindBit(ObjectKind::kReservedVa);
    const uint64_t imports = KindBit(ObjectKind::kIpcImport);
    const uint64_t pools = KindBit(ObjectKind::kPool);
    const OperandSpec size{Role::kSize};
    const OperandSpec address{Role::kAddress};
    const OperandSpec handle{Role::kHandle};
    const OperandSpec new_handle{Role::kHandle, true};
    const OperandSpec type{Role::kLocationType};
    const OperandSpec location{Role::kLocation};
    AddEntry("create", {{Verb::kOpen, handles}}, {size, type, location, new_handle});
    AddEntry("release", {{Verb::kRelease, handles | KindBit(ObjectKind::kMulticast)}}, {handle},
             true);
    AddEntry("retain", {{Verb::kRetain, handles}}, {address, new_handle});
    AddEntry("import", {{Verb::kOpen, handles | imports}}, {{Role::kFd}, new_handle});
    AddEntry("map", {{Verb::kMap, mappings}}, {size, address, {Role::kOffset}, handle});
    AddEntry("unmap", {{Verb::kUnmap, mappings}}, {address, size}, true);
    AddEntry("reserve", {{Verb::kOpen, ranges}}, {size, {Role::kAddress, true}});
    AddEntry("unreserve", {{Verb::kClose, ranges}}, {address, size}, true);
    AddEntry("open_ipc", {{Verb::kOpen, imports}}, {{Role::kIpcHandle}, {Role::kAddress, true}});
    AddEntry("close_ipc", {{Verb::kRelease, imports}}, {address}, true);
    AddEntry("create_pool", {{Verb::kOpen, pools}},
             {type, location, {Role::kAttribute}, {Role::kPool, true}});
    AddEntry("destroy_pool", {{Verb::kClose, pools}}, {{Role::kPool}}, true);
    AddEntry("set_pool", {{Verb::kSet, pools}}, {{Role::kDevice}, {Role::kPool}});
    AddEntry("default_pool", {{Verb::kQuery, pools}}, {{Role::kDevice}, {Role::kPool, true}});
    AddEntry("pool_attribute", {{Verb::kSample, pools}},
             {{Role::kPool}, {Role::kAttribute}, {Role::kValue, true}});
    const uint64_t multicasts = KindBit(ObjectKind::kMulticast);
    AddEntry("export", {{Verb::kExport, handles}}, {handle, {Role::kFd, true}});
    AddEntry("create_multicast", {{Verb::kOpen, multicasts}}, {size, {Role::kCount}, new_handle});
    AddEntry("bind", {{Verb::kBind, multicasts}}, {handle, {Role::kOffset}, handle, size});
    AddEntry("bind_address", {{Verb::kBind, multicasts}},
             {handle, {Role::kOffset}, address, size, {Role::kDevice}});
    AddEntry("unbind", {{Verb::kUnbind, multicasts}},
             {handle, {Role::kDevice}, {Role::kOffset}, size}, true);
    AddEntry("import_pointer", {{Verb::kOpen, imports}},
             {{Role::kPool}, {Role::kIpcHandle}, {Role::kAddress, true}});
    AddEntry("create_stream", {{Verb::kOpen, KindBit(ObjectKind::kStream)}},
             {{Role::kFlags}, {Role::kStream, true}});
    AddEntry("reset", {{Verb::kReset, KindBit(ObjectKind::kPrimaryContext)}}, {{Role::kDevice}},
             true);
    AddEntry("info", {{Verb::kSample, KindBit(ObjectKind::kDevice)}},
             {{Role::kValue, true}, {Role::kValue, true}});
    AddEntry("graph_attribute", {{Verb::kSample, KindBit(ObjectKind::kGraph)}},
             {{Role::kDevice}, {Role::kAttribute}, {Role::kValue, true}});
    AddEntry("add_node", {{Verb::kOpen, KindBit(ObjectKind::kGraphNode)}},
             {{Role::kGraph}, size, {Role::kAddress, true}, {Role::kNode, true}});
    context_ = 0;  // none of these needs one
  }
  uint64_t vmm() { return account(Account::kVmm).current; }
};

TEST_F(VmmLedger, TheDeviceIsTheLocations) {
  Call("create", {100, 1, 1, 0xa});
  Call("create", {10, 2, 0, 0xb});
  EXPECT_EQ(account(Account::kVmm, 1).current, 100u);
  EXPECT_EQ(account(Account::kVmm, ledger::kHost).current, 10u);
  EXPECT_EQ(statistics().all().total.current, 100u);
}

TEST_F(VmmLedger, MemoryStaysUntilHandlesAndMappingsAreGone) {
  Call("create", {100, 1, 0, 0xa});
  Call("map", {100, 0x1000, 0, 0xa});
  Intent("release", {0xa});
  EXPECT_EQ(vmm(), 100u);
  Intent("unmap", {0x1000, 100});
  EXPECT_EQ(vmm(), 0u);
}

TEST_F(VmmLedger, MemoryStaysWhileItsHandleDoes) {
  Call("create", {100, 1, 0, 0xa});
  Call("map", {100, 0x1000, 0, 0xa});
  Intent("unmap", {0x1000, 100});
  EXPECT_EQ(vmm(), 100u);
  Intent("release", {0xa});
  EXPECT_EQ(vmm(), 0u);
}

TEST_F(VmmLedger, RetainedHandlesMustBeReleasedToo) {
  Call("create", {100, 1, 0, 0xa});
  Call("map", {100, 0x1000, 0, 0xa});
  Intent("release", {0xa});
  Call("retain", {0x1010, 0xa});
  Intent("unmap", {0x1000, 100});
  EXPECT_EQ(vmm(), 100u);
  Intent("release", {0xa});
  EXPECT_EQ(vmm(), 0u);
  EXPECT_EQ(ledger().counters().unknown_frees, 0u);
}

TEST_F(VmmLedger, ValuesOfHandlesAreReusedWhileTheOldMemoryIsMapped) {
  Call("create", {100, 1, 0, 0xa});
  Call("map", {100, 0x1000, 0, 0xa});
  Intent("release", {0xa});
  Call("create", {10, 1, 0, 0xa});
  EXPECT_EQ(vmm(), 110u);
  Intent("unmap", {0x1000, 100});
  EXPECT_EQ(vmm(), 10u);
  Intent("release", {0xa});
  EXPECT_EQ(vmm(), 0u);
}

TEST_F(VmmLedger, OneCallMayUnmapSeveralMappings) {
  Call("create", {100, 1, 0, 0xa});
  Call("create", {100, 1, 0, 0xb});
  Call("map", {0x100, 0x1000, 0, 0xa});
  Call("map", {0x100, 0x1100, 0, 0xb});
  Intent("release", {0xa});
  Intent("release", {0xb});
  Intent("unmap", {0x1000, 0x200});
  EXPECT_EQ(vmm(), 0u);
}

TEST_F(VmmLedger, AFailedUnmapIsTakenBack) {
  Call("create", {100, 1, 0, 0xa});
  Call("map", {0x100, 0x1000, 0, 0xa});
  Call("map", {0x100, 0x2000, 0, 0xa});
  Intent("release", {0xa});
  Intent("unmap", {0x1000, 0x2000});
  EXPECT_EQ(vmm(), 0u);
  Complete("unmap", 1);
  EXPECT_EQ(vmm(), 100u);
  EXPECT_EQ(account(Account::kAlias).current, 0x100u);
  // A mapping that is left alone is no alias.
  Intent("unmap", {0x1000, 0x100});
  EXPECT_EQ(vmm(), 100u);
  EXPECT_EQ(account(Account::kAlias).current, 0u);
  Complete("unmap", 1);
  EXPECT_EQ(account(Account::kAlias).current, 0x100u);
  Intent("unmap", {0x1000, 0x100});
  EXPECT_EQ(account(Account::kAlias).current, 0u);
  Intent("unmap", {0x2000, 0x100});
  EXPECT_EQ(vmm(), 0u);
  EXPECT_EQ(account(Account::kAlias).current, 0u);
  EXPECT_EQ(ledger().live(), 0u);
}

TEST_F(VmmLedger, AFailedReleaseIsTakenBack) {
  Call("create", {100, 1, 0, 0xa});
  Intent("release", {0xa});
  Complete("release", 1);
  EXPECT_EQ(vmm(), 100u);
  Intent("release", {0xa});
  EXPECT_EQ(vmm(), 0u);
  EXPECT_EQ(ledger().counters().unknown_frees, 0u);
}

TEST_F(VmmLedger, FurtherMappingsAreAliases) {
  Call("create", {100, 1, 0, 0xa});
  Call("map", {100, 0x1000, 0, 0xa});
  Call("map", {100, 0x2000, 0, 0xa});
  EXPECT_EQ(vmm(), 100u);
  EXPECT_EQ(account(Account::kAlias).current, 100u);
}

TEST_F(VmmLedger, ImportedMemoryIsAnAliasOfTheSizeThatIsMapped) {
  Call("import", {5, 0xa});
  Call("map", {100, 0x1000, 0, 0xa});
  EXPECT_EQ(vmm(), 0u);
  EXPECT_EQ(account(Account::kAlias).current, 100u);
  Intent("unmap", {0x1000, 100});
  Intent("release", {0xa});
  EXPECT_EQ(account(Account::kAlias).current, 0u);
}

TEST_F(VmmLedger, OwnMemoryComesBackByItsDescriptorWhenOnlyAMappingIsLeft) {
  Call("create", {100, 1, 0, 0xa});
  Call("export", {0xa, 7});
  Call("map", {100, 0x1000, 0, 0xa});
  Intent("release", {0xa});
  Call("import", {7, 0xa});
  Intent("unmap", {0x1000, 100});
  EXPECT_EQ(vmm(), 100u);
  Intent("release", {0xa});
  EXPECT_EQ(vmm(), 0u);
  EXPECT_EQ(account(Account::kAlias).allocs, 0u);
  // The number of the descriptor is another's by now.
  Call("create", {10, 1, 0, 0xb});
  Call("import", {7, 0xc});
  EXPECT_EQ(account(Account::kAlias).allocs, 1u);
}

TEST_F(VmmLedger, MemoryStaysWhileItIsBound) {
  Call("create_multicast", {100, 1, 0x99});
  Call("create", {100, 1, 1, 0xa});
  Call("map", {100, 0x1000, 0, 0xa});
  Call("bind", {0x99, 0, 0xa, 100});
  Call("bind_address", {0x99, 200, 0x1010, 100, 0});
  Intent("unmap", {0x1000, 100});
  Intent("release", {0xa});
  EXPECT_EQ(vmm(), 100u);
  Intent("unbind", {0x99, 1, 0, 100});
  Intent("unbind", {0x99, 0, 100, 100});
  EXPECT_EQ(vmm(), 100u);
  Intent("unbind", {0x99, 0, 200, 100});
  EXPECT_EQ(vmm(), 0u);
  Complete("unbind", 1);
  EXPECT_EQ(vmm(), 100u);
  // The object lets go of what is left when it ends.
  Intent("release", {0x99});
  EXPECT_EQ(vmm(), 0u);
  Complete("release", 1);
  EXPECT_EQ(vmm(), 100u);
  Intent("release", {0x99});
  EXPECT_EQ(ledger().live(), 0u);
}

TEST_F(VmmLedger, MulticastObjectsCanBeMapped) {
  Call("create_multicast", {100, 1, 0x99});
  Call("map", {100, 0x1000, 0, 0x99});
  Intent("release", {0x99});
  EXPECT_EQ(ledger().live(), 1u);
  Intent("unmap", {0x1000, 100});
  EXPECT_EQ(ledger().live(), 0u);
}

TEST_F(VmmLedger, PointersOutOfImportedPoolsEndWithNoContext) {
  context_ = 1;
  Call("import_pointer", {0xf00, 5, 0x1000});
  Call("open_ipc", {5, 0x2000});
  Intent("reset", {0});
  EXPECT_EQ(account(Account::kAlias).count, 1u);
  Intent("free", {0x1000});
  EXPECT_EQ(account(Account::kAlias).count, 0u);
}

TEST_F(VmmLedger, OpenedIpcHandlesAreCounted) {
  context_ = 1;
  Call("open_ipc", {5, 0x1000});
  Call("open_ipc", {5, 0x1000});
  Intent("close_ipc", {0x1000});
  EXPECT_EQ(account(Account::kAlias).count, 1u);
  Intent("close_ipc", {0x1000});
  EXPECT_EQ(account(Account::kAlias).count, 0u);
}

TEST_F(VmmLedger, AddressRangesAreAnAccountOfTheirOwn) {
  Call("reserve", {1 << 20, 0x1000});
  EXPECT_EQ(account(Account::kReservedVa).current, 1u << 20);
  EXPECT_EQ(statistics().all().total.current, 0u);
  Intent("unreserve", {0x1000, 1 << 20});
  EXPECT_EQ(account(Account::kReservedVa).current, 0u);
}

TEST_F(VmmLedger, UnknownHandlesAndMappingsAreUnknownFrees) {
  Intent("release", {0xa});
  Intent("unmap", {0x1000, 100});
  EXPECT_EQ(ledger().counters().unknown_frees, 2u);
  Call("map", {100, 0x1000, 0, 0xbad});
  Intent("unmap", {0x1000, 100});
  EXPECT_EQ(ledger().counters().unknown_frees, 2u);
}

TEST_F(VmmLedger, BlocksAreWhereTheirPoolIs) {
  context_ = 1;
  Call("create_pool", {1, 1, 1, 0xf00});
  Call("create_pool", {2, 0, 1, 0xf01});
  Call("alloc_from_pool", {100, 0xf00, 0, 0, 0x1000});
  Call("alloc_from_pool", {10, 0xf01, 0, 0, 0x2000});
  Call("alloc_async", {1, 0, 0, 0x3000});
  EXPECT_EQ(account(Account::kPoolUsed, 1).current, 100u);
  EXPECT_EQ(account(Account::kPoolUsed, ledger::kHost).current, 10u);
  EXPECT_EQ(account(Account::kPoolUsed, 0).current, 1u);
  // Memory outlives its pool.
  Intent("destroy_pool", {0xf00});
  EXPECT_EQ(account(Account::kPoolUsed, 1).current, 100u);
  EXPECT_EQ(account(Account::kPoolObject).count, 1u);
}

TEST_F(VmmLedger, BlocksComeFromTheDevicesCurrentPool) {
  context_ = 1;
  Call("create_pool", {1, 0, 1, 0xf00});
  Call("set_pool", {0, 0xf00});
  Call("alloc_async", {1, 0, 0, 0x3000});
  for (const ledger::Allocation& allocation : ledger().slots()) {
    if (allocation.kind != ObjectKind::kPoolBlock) continue;
    EXPECT_EQ(allocation.pool, 0xf00u);
  }
}

TEST_F(VmmLedger, BlocksAreOnTheDeviceOfTheirStream) {
  context_ = 2;
  Call("create_stream", {0, 0x77});
  context_ = 1;
  Call("alloc_async", {10, 0x77, 0, 0x1000});
  Call("alloc_async", {1, 0, 0, 0x2000});
  EXPECT_EQ(account(Account::kPoolUsed, 1).current, 10u);
  EXPECT_EQ(account(Account::kPoolUsed, 0).current, 1u);
}

TEST_F(VmmLedger, BlocksOfManagedPoolsAreOnNoDevice) {
  context_ = 1;
  Call("create_pool", {1, 0, 2, 0xf00});
  Call("alloc_from_pool", {100, 0xf00, 0, 0, 0x1000});
  EXPECT_EQ(account(Account::kPoolUsed, 0).current, 0u);
  EXPECT_EQ(account(Account::kPoolUsed, ledger::kHost).current, 100u);
}

TEST_F(VmmLedger, ADeviceWhosePoolIsDestroyedHasItsDefaultPoolAgain) {
  context_ = 1;
  const auto pool_of_next_block = [this](uint64_t address) {
    Call("alloc_async", {1, 0, 0, address});
    for (const ledger::Allocation& allocation : ledger().slots()) {
      if (allocation.live && allocation.address == address) return allocation.pool;
    }
    return ~uint64_t{0};
  };
  Call("create_pool", {1, 0, 1, 0xf00});
  Call("set_pool", {0, 0xf00});
  EXPECT_EQ(pool_of_next_block(0x1000), 0xf00u);
  Intent("destroy_pool", {0xf00});
  Complete("destroy_pool", 1);
  EXPECT_EQ(pool_of_next_block(0x2000), 0xf00u);
  Intent("destroy_pool", {0xf00});
  EXPECT_EQ(pool_of_next_block(0x3000), 0u) << "not known";
}

TEST_F(VmmLedger, PoolsReservedBytesAreSampled) {
  Call("default_pool", {1, 0xf00});
  Call("pool_attribute", {0xf00, 5, 4096});
  Call("pool_attribute", {0xf00, 5, 1024});
  Call("pool_attribute", {0xf00, 4, 99});  // the release threshold
  EXPECT_EQ(account(Account::kPoolReserved, 1).current, 1024u);
  EXPECT_EQ(account(Account::kPoolReserved, 1).peak, 4096u);
  EXPECT_EQ(account(Account::kPoolReserved, 1).allocs, 2u);
}

TEST_F(VmmLedger, GraphMemoryIsSampled) {
  Call("graph_attribute", {0, 2, 4096});
  EXPECT_EQ(account(Account::kGraph, 0).current, 4096u);
  context_ = 1;
  Call("add_node", {0x77, 100, 0x1000, 0x78});
  Intent("free", {0x1000});
  EXPECT_EQ(ledger().counters().unknown_frees, 0u);
  EXPECT_EQ(account(Account::kDevice).current, 0u);
}

TEST_F(VmmLedger, UntracedIsWhatTheDriverUsesMore) {
  context_ = 1;
  Call("alloc", {100, 0x1000});
  Call("info", {600, 1000});
  Call("info", {700, 1000});
  Call("info", {0, 0});  // the program wanted neither
  const auto samples = statistics().untraced();
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_EQ(samples[0].driver_used, 400u);
  EXPECT_EQ(samples[0].untraced(), 300);
  EXPECT_EQ(samples[1].driver_used, 300u);
  EXPECT_EQ(samples[1].device, 0);
}

}  // namespace
}  // namespace gputrace

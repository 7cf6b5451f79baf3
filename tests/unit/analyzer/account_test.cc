// SPDX-License-Identifier: Apache-2.0
#include "analyzer/ledger/account.h"

#include "gtest/gtest.h"

namespace gputrace::ledger {
namespace {

TEST(Account, KindsAreParsedAndNamed) {
  EXPECT_EQ(*ParseKinds("device"), Bit(Account::kDevice));
  EXPECT_EQ(*ParseKinds("pinned,registered"), kHostAccounts);
  EXPECT_EQ(*ParseKinds("pool"),
            Bit(Account::kPoolReserved) | Bit(Account::kPoolUsed) | Bit(Account::kPoolObject));
  EXPECT_EQ(*ParseKinds("pool_used"), Bit(Account::kPoolUsed));
  EXPECT_EQ(KindNames(kDeviceAccounts), "device,array,vmm,pool");
  EXPECT_EQ(*ParseKinds("all"), (AccountSet{1} << kMemoryAccounts) - 1);
  EXPECT_EQ(DescribeKinds(kDeviceAccounts), "device");
  EXPECT_EQ(DescribeKinds(Bit(Account::kManaged)), "managed");
}

TEST(Account, WhatIsNoKindIsNamed) {
  EXPECT_EQ(ParseKinds("device,gpu").status().message(), "'gpu' is no kind");
  EXPECT_EQ(ParseKinds("").status().message(), "'' is no kind");
}

TEST(Account, EveryKindOfObjectHasAnAccount) {
  for (unsigned kind = 1; kind <= trace::kLastObjectKind; ++kind) {
    EXPECT_LT(static_cast<size_t>(AccountOf(static_cast<trace::ObjectKind>(kind))), kAccounts);
  }
}

}  // namespace
}  // namespace gputrace::ledger

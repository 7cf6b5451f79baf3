// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/peak.h"

#include <algorithm>
#include <random>

#include "gmock/gmock.h"
#include "tests/unit/analyzer/ledger_fixture.h"

namespace gputrace {
namespace {

using analyses::Filter;
using analyses::Peak;
using analyses::SiteShare;
using ::testing::ElementsAre;
using ::testing::FieldsAre;

std::vector<SiteShare> Sorted(std::vector<SiteShare> shares) {
  std::sort(shares.begin(), shares.end(),
            [](const SiteShare& a, const SiteShare& b) { return a.site < b.site; });
  return shares;
}

class PeakTest : public LedgerFixture {
 protected:
  void Allocate(uint32_t stack, uint64_t bytes, uint64_t address) {
    native_stack_ = stack;
    Call("alloc", {bytes, address});
  }
};

TEST_F(PeakTest, IsMadeOfWhatWasHeldThen) {
  Peak peak{Filter{}};
  Observe(&peak);
  Allocate(1, 100, 0x1000);
  Allocate(2, 50, 0x2000);
  Allocate(1, 10, 0x3000);
  Intent("free", {0x1000});
  Allocate(3, 20, 0x4000);
  EXPECT_EQ(peak.bytes(), 160u);
  EXPECT_EQ(peak.time_ns(), 30);
  EXPECT_THAT(Sorted(peak.AtPeak()), ElementsAre(FieldsAre(0, 110, 2), FieldsAre(1, 50, 1)));
  EXPECT_THAT(Sorted(peak.Now()),
              ElementsAre(FieldsAre(0, 10, 1), FieldsAre(1, 50, 1), FieldsAre(2, 20, 1)));
  EXPECT_EQ(peak.current_bytes(), 80u);
}

TEST_F(PeakTest, TheFirstOfEqualPeaksCounts) {
  Peak peak{Filter{}};
  Observe(&peak);
  Allocate(1, 100, 0x1000);
  Intent("free", {0x1000});
  Allocate(2, 100, 0x1000);
  EXPECT_EQ(peak.time_ns(), 10);
  EXPECT_THAT(peak.AtPeak(), ElementsAre(FieldsAre(0, 100, 1)));
}

TEST_F(PeakTest, OtherKindsAndDevicesAreLeftOut) {
  Peak managed{Filter{ledger::Bit(ledger::Account::kManaged), {}}};
  Peak second{Filter{ledger::kDeviceAccounts, 1}};
  Observe(&managed);
  Observe(&second);
  Allocate(1, 100, 0x1000);
  Call("alloc_managed", {10, 1, 0x2000});
  context_ = 2;
  Allocate(1, 1, 0x3000);
  EXPECT_EQ(managed.bytes(), 10u);
  EXPECT_EQ(second.bytes(), 1u);
}

TEST_F(PeakTest, AFailedFreeHeldItsMemoryAllTheTime) {
  Peak peak{Filter{}};
  Observe(&peak);
  Allocate(1, 100, 0x1000);
  Intent("free", {0x1000});
  Complete("free", 1);
  Allocate(2, 1, 0x2000);
  EXPECT_EQ(peak.bytes(), 101u);
  EXPECT_THAT(Sorted(peak.AtPeak()), ElementsAre(FieldsAre(0, 100, 1), FieldsAre(1, 1, 1)));
}

TEST_F(PeakTest, MemoryOfAProcessThatEndedIsHeldNoLonger) {
  Peak peak{Filter{}};
  Observe(&peak);
  Allocate(1, 100, 0x1000);
  const ledger::Allocation survivor = ledger().slots()[0];
  peak.OnProcessEnd(survivor, time_ns_);
  Allocate(2, 60, 0x2000);
  EXPECT_EQ(peak.bytes(), 100u);
  // … but it was never freed.
  EXPECT_EQ(peak.current_bytes(), 160u);
  EXPECT_THAT(Sorted(peak.Now()), ElementsAre(FieldsAre(0, 100, 1), FieldsAre(1, 60, 1)));
}

// Against a full copy at each peak.
TEST_F(PeakTest, AgreesWithCopyingEverything) {
  Peak peak{Filter{}};
  Observe(&peak);
  std::mt19937 random(1);
  std::vector<std::pair<uint32_t, uint64_t>> live(64);  // by address: stack, bytes
  std::map<uint32_t, uint64_t> held;
  std::map<uint32_t, uint64_t> at_peak;
  uint64_t current = 0;
  uint64_t highest = 0;
  for (int i = 0; i < 20000; ++i) {
    const uint64_t slot = random() % live.size();
    auto& [stack, bytes] = live[slot];
    if (bytes > 0) {
      Intent("free", {slot + 1});
      held[stack] -= bytes;
      current -= bytes;
      bytes = 0;
    } else {
      stack = 1 + random() % 20;
      bytes = 1 + random() % 1000;
      Allocate(stack, bytes, slot + 1);
      held[stack] += bytes;
      current += bytes;
    }
    if (current > highest) {
      highest = current;
      at_peak = held;
    }
  }
  EXPECT_EQ(peak.bytes(), highest);
  std::map<uint32_t, uint64_t> found;
  for (const SiteShare& share : peak.AtPeak()) found[sites_[share.site].native_stack] = share.bytes;
  std::erase_if(at_peak, [](const auto& entry) { return entry.second == 0; });
  EXPECT_EQ(found, at_peak);
}

}  // namespace
}  // namespace gputrace

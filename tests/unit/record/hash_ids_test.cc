// SPDX-License-Identifier: Apache-2.0
#include "interpose/record/hash_ids.h"

#include <gtest/gtest.h>

#include <memory>

namespace gputrace::interpose {
namespace {

TEST(HashIds, GivesDenseIdsAndFindsThemAgain) {
  HashIds ids{};
  bool is_new = false;
  for (uint64_t i = 1; i <= 100'000; ++i) {
    ASSERT_EQ(ids.FindOrAdd(i * 0x9e3779b97f4a7c15u, &is_new), i);
    ASSERT_TRUE(is_new);
  }
  for (uint64_t i = 1; i <= 100'000; ++i) {
    ASSERT_EQ(ids.FindOrAdd(i * 0x9e3779b97f4a7c15u, &is_new), i);
    ASSERT_FALSE(is_new);
  }
  EXPECT_EQ(ids.Find(12345), 0u);
  EXPECT_EQ(ids.Find(0), 0u);
}

TEST(HashIds, TakesBackWhatWasJustAdded) {
  HashIds ids{};
  bool is_new = false;
  EXPECT_EQ(ids.FindOrAdd(5, &is_new), 1u);
  EXPECT_EQ(ids.FindOrAdd(5 + (1u << 10), &is_new), 2u);
  EXPECT_FALSE(ids.TakeBack(5 + (1u << 10)));
  EXPECT_EQ(ids.count(), 1u);
  EXPECT_EQ(ids.Find(5), 1u);
  EXPECT_EQ(ids.FindOrAdd(77, &is_new), 2u);
}

TEST(HashIds, StopsAtItsLimit) {
  HashIds ids{};
  bool is_new = false;
  for (uint64_t i = 1; i <= HashIds::kMaxIds; ++i) ids.FindOrAdd(i * 0x9e3779b97f4a7c15u, &is_new);
  EXPECT_EQ(ids.count(), HashIds::kMaxIds);
  EXPECT_EQ(ids.FindOrAdd(3, &is_new), 0u);
  EXPECT_FALSE(is_new);
  EXPECT_EQ(ids.Find(0x9e3779b97f4a7c15u), 1u) << "what is known stays known";
}

}  // namespace
}  // namespace gputrace::interpose

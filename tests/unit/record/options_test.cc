// SPDX-License-Identifier: Apache-2.0
#include "interpose/record/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gputrace::interpose {
namespace {

Options Read(std::vector<std::string> variables) {
  // Options point into the environment: it has to outlive them.
  static std::vector<std::vector<std::string>> kept;
  kept.push_back(std::move(variables));
  std::vector<char*> environment;
  for (std::string& variable : kept.back()) environment.push_back(variable.data());
  environment.push_back(nullptr);
  return ReadOptions(environment.data());
}

TEST(Options, DefaultsWithoutVariables) {
  const Options options = Read({"HOME=/root", "GPUTRACER=1"});
  EXPECT_FALSE(options.disabled);
  EXPECT_FALSE(options.paused);
  EXPECT_TRUE(options.free_stacks);
  EXPECT_TRUE(options.children);
  EXPECT_EQ(options.stacks, StackMode::kNative);
  EXPECT_EQ(options.depth, 128u);
  EXPECT_EQ(options.ring_bytes, 1u << 20);
  EXPECT_EQ(options.max_bytes, 0u);
  EXPECT_EQ(options.output, nullptr);
  EXPECT_EQ(options.error_count, 0u);
}

TEST(Options, ReadsEachVariable) {
  const Options options =
      Read({"GPUTRACE_DISABLE=1", "GPUTRACE_START=paused", "GPUTRACE_FREE_STACKS=off",
            "GPUTRACE_CHILDREN=off", "GPUTRACE_STACKS=off", "GPUTRACE_DEPTH=7",
            "GPUTRACE_RING=64KiB", "GPUTRACE_MAX_SIZE=2GiB", "GPUTRACE_OUT=/x/%p",
            "GPUTRACE_LOG=/x/log", "GPUTRACE_FRAMEWORKS=auto"});
  EXPECT_EQ(options.error_count, 0u);
  EXPECT_TRUE(options.disabled);
  EXPECT_TRUE(options.paused);
  EXPECT_FALSE(options.free_stacks);
  EXPECT_FALSE(options.children);
  EXPECT_EQ(options.stacks, StackMode::kOff);
  EXPECT_EQ(options.depth, 7u);
  EXPECT_EQ(options.ring_bytes, 65536u);
  EXPECT_EQ(options.max_bytes, 2ull << 30);
  EXPECT_STREQ(options.output, "/x/%p");
  EXPECT_STREQ(options.log, "/x/log");
}

struct BadValue {
  const char* variable;
  const char* why;
};

class BadOption : public ::testing::TestWithParam<BadValue> {};

TEST_P(BadOption, KeepsTheDefaultAndSaysWhy) {
  const Options options = Read({GetParam().variable});
  ASSERT_EQ(options.error_count, 1u);
  EXPECT_THAT(options.errors[0].why, ::testing::HasSubstr(GetParam().why));
  EXPECT_EQ(
      options.errors[0].value,
      std::string(GetParam().variable).substr(std::string(GetParam().variable).find('=') + 1));
  const Options defaults;
  EXPECT_EQ(options.disabled, defaults.disabled);
  EXPECT_EQ(options.paused, defaults.paused);
  EXPECT_EQ(options.free_stacks, defaults.free_stacks);
  EXPECT_EQ(options.depth, defaults.depth);
  EXPECT_EQ(options.ring_bytes, defaults.ring_bytes);
  EXPECT_EQ(options.max_bytes, defaults.max_bytes);
  EXPECT_EQ(options.output, nullptr);
}

INSTANTIATE_TEST_SUITE_P(
    All, BadOption,
    ::testing::Values(
        BadValue{"GPUTRACE_DISABLE=yes", "0 or 1"}, BadValue{"GPUTRACE_START=", "on or paused"},
        BadValue{"GPUTRACE_FREE_STACKS=1", "on or off"},
        BadValue{"GPUTRACE_STACKS=all", "off, native, python or mixed"},
        BadValue{"GPUTRACE_STACKS=python", "native stacks only"},
        BadValue{"GPUTRACE_DEPTH=0", "1 to 256"}, BadValue{"GPUTRACE_DEPTH=257", "1 to 256"},
        BadValue{"GPUTRACE_DEPTH=-3", "1 to 256"}, BadValue{"GPUTRACE_RING=32KiB", "power of two"},
        BadValue{"GPUTRACE_RING=100KiB", "power of two"},
        BadValue{"GPUTRACE_RING=128MiB", "power of two"}, BadValue{"GPUTRACE_MAX_SIZE=big", "size"},
        BadValue{"GPUTRACE_MAX_SIZE=1KiB", "1MiB"}, BadValue{"GPUTRACE_OUT=", "empty"},
        BadValue{"GPUTRACE_LOG=", "empty"}, BadValue{"GPUTRACE_KEEP=10min", "not in this version"},
        BadValue{"GPUTRACE_FRAMEWORKS=pytorch", "not in this version"}));

TEST(Options, ManyErrorsDoNotOverflow) {
  std::vector<std::string> variables(40, "GPUTRACE_DEPTH=x");
  EXPECT_EQ(Read(variables).error_count, Options::kMaxErrors);
}

TEST(ParseSize, TakesUnitsAndRefusesTheRest) {
  uint64_t bytes = 0;
  EXPECT_TRUE(ParseSize("17", &bytes));
  EXPECT_EQ(bytes, 17u);
  EXPECT_TRUE(ParseSize("3M", &bytes));
  EXPECT_EQ(bytes, 3u << 20);
  EXPECT_TRUE(ParseSize("1TiB", &bytes));
  EXPECT_EQ(bytes, 1ull << 40);
  for (const char* bad :
       {"", "x", "-1", "1KB", "1 KiB", "1KiBx", "99999999999999999999", "99999999999T"}) {
    EXPECT_FALSE(ParseSize(bad, &bytes)) << bad;
  }
}

}  // namespace
}  // namespace gputrace::interpose

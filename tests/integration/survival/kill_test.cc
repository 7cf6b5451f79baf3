// SPDX-License-Identifier: Apache-2.0
// kill -9 under load: every completed call is in the trace, in an order that can be true, none
// twice.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <random>

#include "tests/integration/survival/traced_process.h"
#include "trace/repair.h"

namespace gputrace {
namespace {

struct Counted {
  uint64_t allocations = 0;
  uint64_t frees = 0;
};

// The counters that the `load` program keeps, summed over its threads.
Counted ReadCounters(const std::string& path, int threads) {
  Counted sum;
  const int file = open(path.c_str(), O_RDONLY);
  for (int i = 0; i < threads; ++i) {
    uint64_t values[2] = {};
    if (pread(file, values, sizeof(values), 128 * i) == sizeof(values)) {
      sum.allocations += values[0];
      sum.frees += values[1];
    }
  }
  close(file);
  return sum;
}

uint64_t Sum(const std::map<uint32_t, uint64_t>& counts) {
  uint64_t sum = 0;
  for (const auto& [thread, count] : counts) sum += count;
  return sum;
}

// However long a busy machine takes to start it: until it has done something.
void WaitUntilItWorks(const TracedProcess& process, int threads) {
  constexpr int kMaxTries = 3000;  // of 10 ms
  for (int i = 0; i < kMaxTries; ++i) {
    if (ReadCounters(process.Path("counters"), threads).allocations > 1000) return;
    usleep(10'000);
  }
  ADD_FAILURE() << "the program does not work: " << process.Output();
}

class KillTest : public ::testing::TestWithParam<int> {};

TEST_P(KillTest, LosesNothingThatWasCompleted) {
  const int threads = GetParam();
  std::mt19937 random(static_cast<unsigned>(threads));
  for (int round = 0; round < 5; ++round) {
    TracedProcess process;
    process.Start({TracedProcess::Built("workloads/load"), std::to_string(threads),
                   process.Path("counters")});
    WaitUntilItWorks(process, threads);
    usleep(random() % 300'000);
    kill(process.pid(), SIGKILL);
    ASSERT_EQ(process.Wait(), 128 + SIGKILL) << process.Output();
    const Counted done = ReadCounters(process.Path("counters"), threads);
    const std::unique_ptr<trace::Reader> reader = process.Open();
    ASSERT_NE(reader, nullptr);
    EXPECT_EQ(reader->health().ended, trace::Ended::kKilled);
    EXPECT_TRUE(reader->health().complete) << ::testing::PrintToString(reader->health().reasons);
    const Replay replay = ReplayLinear(reader.get());
    EXPECT_EQ(replay.impossible, 0u);
    EXPECT_EQ(replay.without_stack, 0u);
    // A thread may have been between the call and its counter.
    EXPECT_GE(Sum(replay.allocations), done.allocations);
    EXPECT_LE(Sum(replay.allocations), done.allocations + static_cast<uint64_t>(threads));
    EXPECT_GE(Sum(replay.frees), done.frees);
    EXPECT_LE(Sum(replay.frees), done.frees + static_cast<uint64_t>(threads));
    EXPECT_GT(done.allocations, 100u) << "the test did too little to mean anything";
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, KillTest, ::testing::Values(1, 2, 4, 8));

TEST(Kill, RepairMakesTheTraceOneFileWithTheSameContent) {
  TracedProcess process;
  process.Start({TracedProcess::Built("workloads/load"), "2", process.Path("counters")});
  WaitUntilItWorks(process, 2);
  kill(process.pid(), SIGKILL);
  process.Wait();
  const Replay before = ReplayLinear(process.Open().get());
  ASSERT_TRUE(process.Exists("t.gputrace.live"));
  const absl::StatusOr<trace::RepairResult> result = trace::Repair(process.Path("t.gputrace"));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_FALSE(process.Exists("t.gputrace.live"));
  const std::unique_ptr<trace::Reader> reader = process.Open();
  const Replay after = ReplayLinear(reader.get());
  EXPECT_EQ(after.records, before.records);
  EXPECT_EQ(after.live, before.live);
  EXPECT_EQ(after.without_stack, 0u);
  EXPECT_TRUE(reader->health().complete);
  EXPECT_EQ(reader->health().ended, trace::Ended::kKilled);
}

TEST(Kill, ARunningTraceCanBeReadAndIsNotRepaired) {
  TracedProcess process;
  process.Start({TracedProcess::Built("workloads/load"), "2", process.Path("counters")});
  WaitUntilItWorks(process, 2);
  for (int i = 0; i < 10; ++i) {
    const std::unique_ptr<trace::Reader> reader = process.Open();
    EXPECT_EQ(reader->health().ended, trace::Ended::kRunning);
    EXPECT_EQ(reader->health().uncertain_calls, 0u);
    EXPECT_EQ(reader->health().damaged_bytes, 0u);
    ReplayLinear(reader.get());
  }
  EXPECT_EQ(trace::Repair(process.Path("t.gputrace")).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace gputrace

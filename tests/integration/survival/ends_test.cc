// SPDX-License-Identifier: Apache-2.0
// Every way in which a process ends, and what is beside it: children, other programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <csignal>

#include "tests/integration/survival/traced_process.h"

namespace gputrace {
namespace {

using ::testing::ElementsAre;
using trace::Ended;

struct Way {
  const char* name;
  int code;
  Ended ended;
  size_t live_bytes;
};

class Ends : public ::testing::TestWithParam<Way> {};

TEST_P(Ends, KeepsTheExitCodeAndEveryCall) {
  const Way& way = GetParam();
  TracedProcess process;
  EXPECT_EQ(process.Run({TracedProcess::Built("workloads/exits"), way.name}), way.code);
  EXPECT_EQ(process.Output(), "");
  const std::unique_ptr<trace::Reader> reader = process.Open();
  ASSERT_NE(reader, nullptr);
  EXPECT_EQ(reader->health().ended, way.ended);
  EXPECT_TRUE(reader->health().complete) << ::testing::PrintToString(reader->health().reasons);
  size_t live = 0;
  for (const auto& [address, size] : ReplayLinear(reader.get()).live) live += size;
  EXPECT_EQ(live, way.live_bytes);
  EXPECT_EQ(process.Exists("t.gputrace.live"), way.ended != Ended::kExit);
}

INSTANTIATE_TEST_SUITE_P(All, Ends,
                         ::testing::Values(Way{"", 0, Ended::kExit, 1000},
                                           // The static destructor's free is recorded, too.
                                           Way{"static", 0, Ended::kExit, 1000},
                                           Way{"_exit", 7, Ended::kKilled, 1000},
                                           Way{"abort", 128 + SIGABRT, Ended::kKilled, 1000},
                                           Way{"segv", 128 + SIGSEGV, Ended::kKilled, 1000},
                                           Way{"thread", 9, Ended::kExit, 1000},
                                           // The writer must not keep it alive.
                                           Way{"pthread_exit", 0, Ended::kExit, 1000},
                                           Way{"worker_is_last", 0, Ended::kExit, 3000},
                                           Way{"quick_exit", 5, Ended::kKilled, 1000}));

// Not even for the moment until the writer has noticed.
TEST(Ends, AProcessWithoutItsFirstThreadCanBeTerminated) {
  TracedProcess process;
  process.Start({TracedProcess::Built("workloads/exits"), "first_thread_gone"});
  usleep(300'000);
  EXPECT_EQ(kill(process.pid(), SIGTERM), 0);
  EXPECT_EQ(process.Wait(), 128 + SIGTERM);
}

TEST(Ends, AForkedChildHasAFileOfItsOwn) {
  TracedProcess process;
  EXPECT_EQ(process.Run({TracedProcess::Built("workloads/exits"), "fork"}), 0) << process.Output();
  EXPECT_THAT(process.Files(), ElementsAre("t.1.gputrace", "t.gputrace"));
  const Replay parent = ReplayLinear(process.Open("t.gputrace").get());
  const Replay child = ReplayLinear(process.Open("t.1.gputrace").get());
  EXPECT_EQ(parent.live.size(), 3u);
  EXPECT_EQ(child.failed, 10u);
  EXPECT_NE(process.Open("t.gputrace")->dictionary().fact("pid"),
            process.Open("t.1.gputrace")->dictionary().fact("pid"));
}

TEST(Ends, AnotherProgramInItsPlaceIsNotTouched) {
  TracedProcess process;
  EXPECT_EQ(process.Run({TracedProcess::Built("workloads/exits"), "exec"}), 0);
  EXPECT_EQ(process.Output(), "another program\n");
  EXPECT_THAT(process.Files(), ElementsAre("t.gputrace", "t.gputrace.live"));
  EXPECT_EQ(ReplayLinear(process.Open().get()).live.size(), 1u);
}

TEST(Ends, AProgramWithoutCudaLeavesNothing) {
  TracedProcess process;
  process.environment["GPUTRACE_LOG"] = process.Path("log");
  EXPECT_EQ(process.Run({"/bin/sh", "-c", "ls /proc/self/task | wc -l; echo out; exit 4"}), 4);
  EXPECT_EQ(process.Output(), "1\nout\n") << "no thread, no output of ours";
  EXPECT_THAT(process.Files(), ElementsAre());
}

TEST(Ends, NoDriverAtAll) {
  TracedProcess process;
  process.environment["LD_LIBRARY_PATH"] = "";
  process.environment["GPUTRACE_LOG"] = process.Path("log");
  EXPECT_EQ(process.Run({"/usr/bin/python3", "-c",
                         "import ctypes\n"
                         "try: ctypes.CDLL('libcuda.so.1'); print('found')\n"
                         "except OSError: print('absent')\n"
                         "print(hasattr(ctypes.CDLL(None), 'cuInit'))"}),
            0);
  EXPECT_EQ(process.Output(), "absent\nFalse\n") << "a probe must not find our exports";
  EXPECT_THAT(process.Files(), ElementsAre());
}

TEST(Ends, AnInertProcessMakesFewSystemCallsMore) {
  const auto count = [](bool traced) {
    TracedProcess process;
    if (!traced) process.environment["LD_PRELOAD"] = "";
    process.Run({"/usr/bin/strace", "-f", "-o", process.Path("calls"), "/bin/true"});
    std::string text;
    FILE* file = fopen(process.Path("calls").c_str(), "r");
    int lines = 0;
    for (int c = fgetc(file); c != EOF; c = fgetc(file)) lines += c == '\n';
    fclose(file);
    return lines;
  };
  // The loader opens, reads and maps one library more; the constructor makes no system call.
  EXPECT_LE(count(true), count(false) + 25);
}

}  // namespace
}  // namespace gputrace

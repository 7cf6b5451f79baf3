// SPDX-License-Identifier: Apache-2.0
// The stand-in's account of itself, as files.
#include <signal.h>
#include <sys/wait.h>

#include <cstdio>
#include <thread>

#include "tests/unit/simulator/simulated.h"

namespace gputrace::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Account : public Simulated {
 protected:
  void SetUp() override {
    path_ = TemporaryFile("account");
    std::filesystem::remove(path_);
  }
  void TearDown() override { std::filesystem::remove(path_); }

  // In a child, so that its end can be seen.
  int Run(const Variables& variables, const std::function<void()>& program) {
    const pid_t child = fork();
    if (child == 0) {
      Start(variables);
      program();
      exit(HasFailure() ? 1 : 0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status;
  }

  std::string path_;
};

TEST_F(Account, IsWrittenAtExit) {
  EXPECT_EQ(Run({{"GPUSIM_LEDGER", path_}},
                [] {
                  Allocate(1000);
                  cuMemFree(Allocate(2000));
                  CUdeviceptr address = 0;
                  EXPECT_OK(cuMemAllocAsync(&address, 3000, nullptr));
                }),
            0);
  const std::string text = Contents(path_);
  EXPECT_THAT(text, HasSubstr("\"devices\":[{\"index\":0,\"total\":17179869184,\"used\":304087040"))
      << "a context of 256 MiB, a slab of 2 MiB, a segment of 32 MiB";
  EXPECT_THAT(text, HasSubstr("\"kind\":\"device\""));
  EXPECT_THAT(text, HasSubstr("\"size\":1000,\"device\":0"));
  EXPECT_THAT(text, HasSubstr("\"size\":3000,\"device\":0"));
  EXPECT_THAT(text, Not(HasSubstr("\"size\":2000")));
  EXPECT_THAT(text, HasSubstr("\"cuMemAlloc_v2\":2"));
  EXPECT_THAT(text, HasSubstr("\"cuMemFree_v2\":1"));
}

TEST_F(Account, IsWrittenOnSignal) {
  Start({{"GPUSIM_LEDGER", path_}});
  Allocate(1234);
  raise(SIGUSR2);
  for (int i = 0; i < 500 && !std::filesystem::exists(path_); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_THAT(Contents(path_), HasSubstr("\"size\":1234"));
}

TEST_F(Account, TheJournalIsNumberedAndSurvivesAKill) {
  const int status = Run({{"GPUSIM_JOURNAL", path_}}, [] {
    cuMemFree(Allocate(1000));
    void* host = nullptr;
    EXPECT_OK(cuMemHostAlloc(&host, 500, 0));
    kill(getpid(), SIGKILL);
  });
  EXPECT_TRUE(WIFSIGNALED(status));
  std::ifstream file(path_);
  std::string line;
  std::vector<std::string> seen;
  while (std::getline(file, line)) {
    // Not by std::regex: GCC 12 warns of its inside when sanitizing.
    unsigned number = 0;
    char call[64] = "";
    char kind[64] = "";
    unsigned size = 0;
    char sign[2] = "";
    int length = 0;
    sscanf(line.c_str(),
           R"({"n":%u,"call":"%63[^"]","kind":"%63[^"]","address":%*u,"size":%u,"device":%*d,)"
           R"("context":%*u,"pool":%*u,"handle":%*u,"delta":"%1[+-]"}%n)",
           &number, call, kind, &size, sign, &length);
    ASSERT_EQ(static_cast<size_t>(length), line.size()) << line;
    EXPECT_EQ(number, seen.size() + 1);
    seen.push_back(std::string(sign) + call + " " + kind + " " + std::to_string(size));
  }
  EXPECT_THAT(seen, ::testing::ElementsAre(
                        "+cuDevicePrimaryCtxRetain context 268435456", "+cuMemAlloc_v2 device 1000",
                        "-cuMemFree_v2 device 1000", "+cuMemHostAlloc pinned 500"));
}

TEST_F(Account, ImplicitFreesAreOfTheCallThatCausesThem) {
  Start({{"GPUSIM_JOURNAL", path_}});
  Allocate(1000);
  ASSERT_OK(cuDevicePrimaryCtxReset(0));
  EXPECT_THAT(Contents(path_),
              HasSubstr("\"call\":\"cuDevicePrimaryCtxReset_v2\",\"kind\":\"device\""));
}

TEST_F(Account, SymbolsOfTwinsAreTheirOwn) {
  Start({{"GPUSIM_JOURNAL", path_}});
  void* found = nullptr;
  ASSERT_OK(cuGetProcAddress("cuMemAllocAsync", &found, 11020,
                             CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, nullptr));
  CUdeviceptr address = 0;
  ASSERT_OK(reinterpret_cast<decltype(&cuMemAllocAsync)>(found)(&address, 100, nullptr));
  EXPECT_THAT(Contents(path_), HasSubstr("\"call\":\"cuMemAllocAsync_ptsz\",\"kind\":\"pool\""));
}

TEST_F(Account, AForkedChildDoesNotWriteItsParents) {
  Start({{"GPUSIM_LEDGER", path_}});
  const pid_t child = fork();
  if (child == 0) exit(0);
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

}  // namespace
}  // namespace gputrace::sim

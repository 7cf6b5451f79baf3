// SPDX-License-Identifier: Apache-2.0
// Options, limits and trouble: the program's behaviour is never changed, and the trace or the log
// says what was.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "tests/integration/survival/traced_process.h"

namespace gputrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Content(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

int RunLinear(TracedProcess* process) {
  return process->Run({TracedProcess::Built("workloads/families"), "linear"});
}
int RunLoad(TracedProcess* process, const char* threads, const char* count) {
  return process->Run(
      {TracedProcess::Built("workloads/load"), threads, process->Path("counters"), count});
}

TEST(Limits, ABadOptionValueIsInTheTraceAndTheDefaultIsUsed) {
  TracedProcess process;
  process.environment["GPUTRACE_DEPTH"] = "deep";
  EXPECT_EQ(RunLinear(&process), 0);
  EXPECT_EQ(process.Output(), "");
  const std::unique_ptr<trace::Reader> reader = process.Open();
  EXPECT_THAT(std::string(reader->dictionary().fact("option_error.GPUTRACE_DEPTH")),
              HasSubstr("\"deep\" must be a number of frames from 1 to 256"));
  EXPECT_EQ(reader->dictionary().fact("option.GPUTRACE_DEPTH"), "128");
}

TEST(Limits, AnUnwritableOutputIsLoggedAndTheProgramRunsOn) {
  TracedProcess process;
  process.environment["GPUTRACE_OUT"] = "/nonexistent/folder/t.gputrace";
  process.environment["GPUTRACE_LOG"] = process.Path("log");
  EXPECT_EQ(RunLinear(&process), 0);
  EXPECT_EQ(process.Output(), "");
  EXPECT_THAT(Content(process.Path("log")),
              HasSubstr("cannot create the trace: /nonexistent/folder/t.gputrace"));
  EXPECT_THAT(process.Files(), ElementsAre("log"));
}

TEST(Limits, AnExistingFileIsNeverOverwritten) {
  TracedProcess process;
  std::ofstream(process.Path("t.gputrace")) << "precious";
  EXPECT_EQ(RunLinear(&process), 0);
  EXPECT_EQ(Content(process.Path("t.gputrace")), "precious");
  EXPECT_TRUE(process.Open("t.1.gputrace")->health().complete);
}

TEST(Limits, DisabledAndPausedLeaveNothing) {
  for (const auto& [name, value] : std::map<std::string, std::string>{
           {"GPUTRACE_DISABLE", "1"}, {"GPUTRACE_START", "paused"}}) {
    TracedProcess process;
    process.environment[name] = value;
    EXPECT_EQ(RunLinear(&process), 0);
    EXPECT_THAT(process.Files(), ElementsAre()) << name;
  }
}

TEST(Limits, StacksCanBeSwitchedOff) {
  TracedProcess off;
  off.environment["GPUTRACE_STACKS"] = "off";
  EXPECT_EQ(RunLinear(&off), 0);
  EXPECT_EQ(off.Open()->dictionary().stack_count(), 0u);
  TracedProcess frees_off;
  frees_off.environment["GPUTRACE_FREE_STACKS"] = "off";
  EXPECT_EQ(RunLinear(&frees_off), 0);
  const std::unique_ptr<trace::Reader> reader = frees_off.Open();
  ASSERT_TRUE(reader
                  ->ForEach([&](const trace::Record& record) {
                    const trace::EntryDescriptor* entry = reader->dictionary().entry(record.entry);
                    EXPECT_TRUE(record.kind != trace::RecordKind::kIntent ||
                                record.native_stack == 0);
                    if (entry == nullptr) return;
                    EXPECT_TRUE(entry->symbol != "cuMemAlloc_v2" || record.native_stack != 0);
                  })
                  .ok());
}

TEST(Limits, DepthCutsStacksAndSaysSo) {
  TracedProcess process;
  process.environment["GPUTRACE_DEPTH"] = "3";
  EXPECT_EQ(RunLoad(&process, "1", "100"), 0);
  const std::unique_ptr<trace::Reader> reader = process.Open();
  EXPECT_GT(reader->health().truncated_stacks, 0u);
  for (uint32_t id = 1; id <= reader->dictionary().stack_count(); ++id) {
    EXPECT_LE(reader->dictionary().stack(id).pcs.size(), 3u);
  }
}

TEST(Limits, TheSizeLimitStopsTheTraceNotTheProgram) {
  TracedProcess process;
  process.environment["GPUTRACE_MAX_SIZE"] = "1MiB";
  EXPECT_EQ(RunLoad(&process, "2", "1000000"), 0);
  struct stat info {};
  ASSERT_EQ(stat(process.Path("t.gputrace").c_str(), &info), 0);
  EXPECT_LE(info.st_size, (1 << 20) + (64 << 10));
  const std::unique_ptr<trace::Reader> reader = process.Open();
  EXPECT_FALSE(reader->health().complete);
  const Replay replay = ReplayLinear(reader.get());
  uint64_t calls = replay.records;
  EXPECT_GT(reader->health().lost_events, 0u);
  EXPECT_GE(calls + reader->health().lost_events, 2'000'000u);
  EXPECT_THAT(reader->dictionary().troubles(), ::testing::Contains(HasSubstr("GPUTRACE_MAX_SIZE")));
}

TEST(Limits, ASmallRingLosesNothing) {
  TracedProcess process;
  process.environment["GPUTRACE_RING"] = "64KiB";
  EXPECT_EQ(RunLoad(&process, "4", "50000"), 0);
  const std::unique_ptr<trace::Reader> reader = process.Open();
  EXPECT_TRUE(reader->health().complete) << ::testing::PrintToString(reader->health().reasons);
  const Replay replay = ReplayLinear(reader.get());
  EXPECT_EQ(replay.impossible, 0u);
  EXPECT_EQ(replay.allocations.size(), 4u);
  for (const auto& [thread, count] : replay.allocations) EXPECT_EQ(count, 50'000u);
}

// A file system of 1 MiB: the trace fills it up.
TEST(Limits, AFullDiskCostsEventsButNotTheProgram) {
  TracedProcess process;
  const std::string disk = process.Path("disk");
  mkdir(disk.c_str(), 0755);
  if (mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=1m") != 0) {
    GTEST_SKIP() << "mounting a file system needs more rights than this user has";
  }
  process.environment["GPUTRACE_OUT"] = disk + "/t.gputrace";
  process.environment["GPUTRACE_LOG"] = process.Path("log");
  process.environment["GPUTRACE_RING"] = "64KiB";
  const int code = RunLoad(&process, "1", "1500000");
  const std::string log = Content(process.Path("log"));
  const std::unique_ptr<trace::Reader> reader = process.Open("disk/t.gputrace");
  const Replay replay = reader == nullptr ? Replay{} : ReplayLinear(reader.get());
  const bool complete = reader != nullptr && reader->health().complete;
  const uint64_t lost = reader == nullptr ? 0 : reader->health().lost_events;
  umount2(disk.c_str(), MNT_DETACH);
  EXPECT_EQ(code, 0);
  EXPECT_EQ(process.Output(), "");
  EXPECT_THAT(log, HasSubstr("cannot write"));
  EXPECT_GT(replay.records, 1000u) << "what was written stays readable";
  EXPECT_FALSE(complete);
  EXPECT_GT(lost, 0u);
}

TEST(Limits, ProcessFactsAreRecorded) {
  TracedProcess process;
  process.environment["RANK"] = "3";
  process.environment["SECRET_TOKEN"] = "hunter2";
  process.environment["GPUTRACE_OUT"] = process.Path("%e.%r.gputrace");
  EXPECT_EQ(RunLinear(&process), 0);
  const std::unique_ptr<trace::Reader> reader = process.Open("families.3.gputrace");
  const trace::Dictionary& d = reader->dictionary();
  EXPECT_EQ(d.fact("env.RANK"), "3");
  EXPECT_EQ(d.fact("rank"), "3");
  EXPECT_EQ(d.fact("exe"), TracedProcess::Built("workloads/families"));
  EXPECT_EQ(d.fact("args"), "[\"" + TracedProcess::Built("workloads/families") + "\",\"linear\"]");
  EXPECT_EQ(d.fact("ppid"), std::to_string(getpid()));
  EXPECT_EQ(d.fact("driver.version"), "13050");
  for (const auto& [key, value] : d.facts())
    EXPECT_THAT(value, ::testing::Not(HasSubstr("hunter2")));
  ASSERT_EQ(d.devices().size(), 1u);
  EXPECT_EQ(d.devices()[0].total_bytes, 16ull << 30);
  EXPECT_EQ(d.contexts().at(0).device, 0);
  const trace::Module* module = nullptr;
  for (const trace::Module& m : d.modules()) {
    if (m.path == TracedProcess::Built("workloads/families")) module = &m;
  }
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(module->build_id.size(), 40u);
}

}  // namespace
}  // namespace gputrace

// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/run_traces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace gputrace::cli {
namespace {

namespace fs = std::filesystem;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

class TraceFolderTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "run.XXXXXX";
    folder_ = fs::canonical(mkdtemp(pattern.data()));
    before_ = fs::current_path();
    fs::current_path(folder_);
  }
  void TearDown() override {
    fs::current_path(before_);
    fs::remove_all(folder_);
  }
  static void Write(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::app) << text;
  }

  fs::path folder_;
  fs::path before_;
};

TEST_F(TraceFolderTest, MakesANewOneEachTime) {
  const auto first = TraceFolder::Make("", "/usr/bin/python3");
  const auto second = TraceFolder::Make("", "/usr/bin/python3");
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_THAT(first->shown(), StartsWith("gputrace.python3.20"));
  EXPECT_NE(first->shown(), second->shown());
  EXPECT_EQ(first->OutputPattern(), folder_ / first->shown() / "%e.%p.%t.gputrace");
  first->RemoveIfUnused();
  EXPECT_FALSE(fs::exists(first->shown()));
  Write(second->shown() + "/x", "");
  second->RemoveIfUnused();
  EXPECT_TRUE(fs::exists(second->shown()));
}

TEST_F(TraceFolderTest, UsesAFolderThatIsThereAndLeavesIt) {
  fs::create_directory("traces");
  const auto folder = TraceFolder::Make("traces", "prog");
  ASSERT_TRUE(folder.ok());
  folder->RemoveIfUnused();
  EXPECT_TRUE(fs::exists("traces"));
}

TEST_F(TraceFolderTest, MakesTheFoldersAbove) {
  ASSERT_TRUE(TraceFolder::Make("a/b/c", "prog").ok());
  EXPECT_TRUE(fs::is_directory("a/b/c"));
}

TEST_F(TraceFolderTest, APercentSignInItsNameIsNotForTheTracer) {
  EXPECT_THAT(TraceFolder::Make("100%p", "prog")->OutputPattern(),
              EndsWith("/100%%p/%e.%p.%t.gputrace"));
}

TEST_F(TraceFolderTest, RefusesWhatIsNoFolder) {
  Write("file", "x");
  EXPECT_THAT(std::string(TraceFolder::Make("file", "prog").status().message()), HasSubstr("file"));
  EXPECT_FALSE(TraceFolder::Make("file/below", "prog").ok());
  EXPECT_FALSE(TraceFolder::Make("/proc/no", "prog").ok());
}

TEST_F(TraceFolderTest, CountsWhatIsNew) {
  fs::create_directory("traces");
  Write("traces/old.gputrace", "12345");
  Write("traces/tracer.log", "an old line\n");
  const auto folder = TraceFolder::Make("traces", "prog");
  ASSERT_TRUE(folder.ok());
  EXPECT_EQ(folder->Collect().traces, 0);
  EXPECT_EQ(folder->Collect().last_trouble, "");
  Write("traces/new.gputrace", "123");
  Write("traces/new.1.gputrace", "1234");
  Write("traces/new.gputrace.live", "1234");
  Write("traces/new.gputrace.", "1234");
  Write("traces/notes.txt", "1234");
  Write("traces/tracer.log", "gputrace[7]: cannot write\n");
  const TraceFolder::Yield yield = folder->Collect();
  EXPECT_EQ(yield.traces, 2);
  EXPECT_EQ(yield.bytes, 7u);
  EXPECT_EQ(yield.older, 1);
  EXPECT_EQ(yield.last_trouble, "gputrace[7]: cannot write");
}

TEST(ShellQuote, QuotesWhatAShellWouldChange) {
  EXPECT_EQ(ShellQuote("gputrace.python.20260101-000000"), "gputrace.python.20260101-000000");
  EXPECT_EQ(ShellQuote("my traces"), "'my traces'");
  EXPECT_EQ(ShellQuote("it's"), "'it'\\''s'");
  EXPECT_EQ(ShellQuote("$HOME"), "'$HOME'");
  EXPECT_EQ(ShellQuote(""), "''");
}

class WhyNoTraceTest : public TraceFolderTest {
 protected:
  Environment environment_ = Environment::OfThisProcess();
};

TEST_F(WhyNoTraceTest, TheUserHasSwitchedItOff) {
  environment_.Set("GPUTRACE_DISABLE", "1");
  EXPECT_EQ(WhyNoTrace("sh", environment_), "GPUTRACE_DISABLE=1 is set");
}

TEST_F(WhyNoTraceTest, TheProgramIsStatic) {
  Write("main.c", "int main(void) { return 0; }\n");
  ASSERT_EQ(system("cc -static -o program main.c"), 0);
  EXPECT_THAT(WhyNoTrace("./program", environment_), StartsWith("./program is statically linked"));
  Write("script", "#!  " + (folder_ / "program").string() + " -x\n");
  EXPECT_THAT(WhyNoTrace("./script", environment_), HasSubstr("/program is statically linked"));
}

TEST_F(WhyNoTraceTest, TheProgramIsSetuid) {
  fs::copy_file("/bin/true", "program");
  ASSERT_EQ(chmod("program", 04755), 0);
  EXPECT_THAT(WhyNoTrace("./program", environment_), HasSubstr("setuid"));
  environment_.Set("PATH", "/nowhere:" + folder_.string());
  EXPECT_THAT(WhyNoTrace("program", environment_), HasSubstr("setuid"));
}

TEST_F(WhyNoTraceTest, TheProgramIsForAnotherMachine) {
  std::string header(64, '\0');
  header.replace(0, 4,
                 "\x7f"
                 "ELF");
  header[4] = 1;  // 32 bits
  Write("program", header);
  EXPECT_THAT(WhyNoTrace("./program", environment_), HasSubstr("another kind of machine"));
}

TEST_F(WhyNoTraceTest, NothingToSeeFromOutside) {
  EXPECT_THAT(WhyNoTrace("/bin/true", environment_),
              StartsWith("/bin/true made no CUDA call, or "));
  EXPECT_THAT(WhyNoTrace("no-such-program", environment_),
              StartsWith("no-such-program made no CUDA"));
  Write("script", "#!/usr/bin/env python3\n");
  EXPECT_THAT(WhyNoTrace("./script", environment_), HasSubstr("made no CUDA call"));
}

}  // namespace
}  // namespace gputrace::cli

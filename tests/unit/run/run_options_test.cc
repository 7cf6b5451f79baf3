// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/run_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analyzer/cli/run_tracer_options.h"

namespace gputrace::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr uint64_t kGiB = uint64_t{1} << 30;

RunOptions Parse(const std::vector<std::string>& words) {
  auto options = ParseRunOptions(words);
  EXPECT_TRUE(options.ok()) << options.status();
  return options.value_or(RunOptions{});
}

std::string ErrorOf(const std::vector<std::string>& words) {
  const auto options = ParseRunOptions(words);
  EXPECT_EQ(options.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(options.status().message());
}

TEST(RunOptions, TheCommandsWordsAreItsOwn) {
  EXPECT_THAT(Parse({"--", "prog", "-o", "x", "--", "--help"}).command,
              ElementsAre("prog", "-o", "x", "--", "--help"));
  EXPECT_THAT(Parse({"prog", "--depth", "bad"}).command, ElementsAre("prog", "--depth", "bad"));
  EXPECT_THAT(Parse({"-q", "-"}).command, ElementsAre("-"));
  EXPECT_THAT(Parse({"--", "--weird"}).command, ElementsAre("--weird"));
  EXPECT_THAT(Parse({"info"}).command, ElementsAre("info"));
}

TEST(RunOptions, ReadsItsOwn) {
  const RunOptions options = Parse({"-o", "traces", "--simulate=2x80GiB", "-q", "--depth", "64",
                                    "--max-size=1.5GiB", "--stacks", "off", "--", "prog"});
  EXPECT_EQ(options.output, "traces");
  EXPECT_TRUE(options.quiet);
  EXPECT_FALSE(options.help);
  EXPECT_THAT(options.simulated_bytes, ElementsAre(80 * kGiB, 80 * kGiB));
  EXPECT_EQ(options.tracer.at("GPUTRACE_DEPTH"), "64");
  EXPECT_EQ(options.tracer.at("GPUTRACE_MAX_SIZE"), "1610612736");
  EXPECT_EQ(options.tracer.at("GPUTRACE_STACKS"), "off");
  EXPECT_EQ(options.tracer.size(), 3u);
}

TEST(RunOptions, TheLastOneCounts) {
  EXPECT_EQ(Parse({"--depth", "3", "--depth", "4", "prog"}).tracer.at("GPUTRACE_DEPTH"), "4");
}

TEST(RunOptions, SaysWhatIsWrong) {
  EXPECT_EQ(ErrorOf({}), "which command? (gputrace run -- CMD…)");
  EXPECT_EQ(ErrorOf({"--"}), "which command? (gputrace run -- CMD…)");
  EXPECT_EQ(ErrorOf({"--staks", "off", "prog"}),
            "there is no option --staks (see gputrace run --help)");
  EXPECT_EQ(ErrorOf({"-x", "prog"}), "there is no option -x (see gputrace run --help)");
  EXPECT_EQ(ErrorOf({"-o"}), "-o needs a value");
  EXPECT_EQ(ErrorOf({"--output="}), "--output: the folder's name is empty");
  EXPECT_EQ(ErrorOf({"--depth"}), "--depth needs a value");
  EXPECT_EQ(ErrorOf({"--depth", "0", "prog"}),
            "--depth 0: must be a number of frames from 1 to 256");
  EXPECT_EQ(ErrorOf({"--ring", "3MiB", "prog"}),
            "--ring 3MiB: must be a power of two from 64KiB to 64MiB");
  EXPECT_EQ(ErrorOf({"--free-stacks=yes", "prog"}), "--free-stacks yes: must be on or off");
  EXPECT_EQ(ErrorOf({"--log", "", "prog"}), "--log : is empty");
}

TEST(RunOptions, NamesWhatThisVersionLacks) {
  EXPECT_THAT(ErrorOf({"--check", "--", "prog"}), HasSubstr("`gputrace check`"));
  EXPECT_THAT(ErrorOf({"--keep", "10min", "--", "prog"}), HasSubstr("flight recorder"));
  EXPECT_THAT(ErrorOf({"--stacks", "python", "--", "prog"}), HasSubstr("native stacks only"));
  EXPECT_THAT(ErrorOf({"--frameworks", "pytorch,jax", "--", "prog"}),
              HasSubstr("must be auto or off"));
}

TEST(RunOptions, HelpNeedsNoCommandAndNamesEveryFlag) {
  EXPECT_TRUE(Parse({"--help"}).help);
  EXPECT_TRUE(Parse({"--depth", "3", "-h"}).help);
  const std::string help = RunHelp();
  for (const TracerOption& option : TracerOptions()) {
    if (option.flag == nullptr) continue;
    EXPECT_THAT(help, HasSubstr(option.flag));
  }
  EXPECT_THAT(help, testing::Not(HasSubstr("--check")));
}

TEST(Simulate, ReadsCards) {
  EXPECT_THAT(*ParseSimulatedDevices("80GiB"), ElementsAre(80 * kGiB));
  EXPECT_THAT(*ParseSimulatedDevices("2x80GiB"), ElementsAre(80 * kGiB, 80 * kGiB));
  EXPECT_THAT(*ParseSimulatedDevices("16GiB,2x24 GiB"),
              ElementsAre(16 * kGiB, 24 * kGiB, 24 * kGiB));
  EXPECT_EQ(ParseSimulatedDevices("64x1GiB")->size(), 64u);
}

TEST(Simulate, RefusesOtherSpecs) {
  for (const char* spec : {"", "GiB", "0x80GiB", "-1x80GiB", "x80GiB", "2x", "2x0", "0", "80GiB,",
                           "65x1GiB", "99999999999x1GiB", "2*80GiB", "33x1GiB,32x1GiB"}) {
    EXPECT_EQ(ParseSimulatedDevices(spec).status().code(), absl::StatusCode::kInvalidArgument)
        << spec;
  }
}

TEST(Variables, AreRefusedByName) {
  Environment environment;
  environment.Set("GPUTRACE_RING", "100");
  EXPECT_EQ(NormalizeVariables(&environment).message(),
            "GPUTRACE_RING=100: must be a power of two from 64KiB to 64MiB");
  environment.Set("GPUTRACE_RING", "2 MiB");
  EXPECT_TRUE(NormalizeVariables(&environment).ok());
  EXPECT_EQ(environment.Get("GPUTRACE_RING"), "2097152");
}

TEST(Variables, MisspeltOnesAreFound) {
  Environment environment;
  for (const char* name : {"GPUTRACE_DEPTHS", "GPUTRACE_DEPTH", "GPUTRACE_OUT", "GPUSIM_MEMORY",
                           "GPUTRACE", "GPUTRACE_KEEP", "HOME"}) {
    environment.Set(name, "x");
  }
  EXPECT_THAT(UnknownVariables(environment), ElementsAre("GPUTRACE_DEPTHS"));
}

TEST(Environment, ListsGrowAtTheFront) {
  Environment environment;
  environment.Prepend("LD_PRELOAD", "/a.so", ':');
  EXPECT_EQ(environment.Get("LD_PRELOAD"), "/a.so");
  environment.Prepend("LD_PRELOAD", "/b.so", ':');
  EXPECT_EQ(environment.Get("LD_PRELOAD"), "/b.so:/a.so");
  environment.Set("LD_LIBRARY_PATH", "");
  environment.Prepend("LD_LIBRARY_PATH", "/lib", ':');
  EXPECT_EQ(environment.Get("LD_LIBRARY_PATH"), "/lib");
}

TEST(Library, MustBeLoadable) {
  EXPECT_TRUE(CheckLibrary("/proc/self/exe").ok());
  EXPECT_EQ(CheckLibrary("/no/such/libgputrace.so").code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace gputrace::cli

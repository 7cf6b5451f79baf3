// SPDX-License-Identifier: Apache-2.0
// Which file on disk is believed: the module itself, its separate debug information, neither.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "absl/strings/str_format.h"
#include "analyzer/symbols/symbolizer.h"
#include "tests/unit/symbols/subject.h"

namespace gputrace::symbols {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string ModuleAndOffset(const Place& place) {
  return absl::StrFormat("libsubject.so+0x%x", place.pc - place.bias);
}

class ModuleFileTest : public testing::Test {
 protected:
  void Build(const std::string& flags = "-O2 -g") {
    Compile(library(), flags);
    place_ = Call(library(), "subject_run");
  }
  // Moves the debug information to `debug_file`; the library keeps a link to that file's name.
  void SplitTo(const std::string& debug_file, const std::string& link_to) {
    fs::create_directories(fs::path(debug_file).parent_path());
    RunShell("objcopy --only-keep-debug " + library() + " " + debug_file + " && strip " +
             library());
    if (!link_to.empty()) RunShell("objcopy --add-gnu-debuglink=" + link_to + " " + library());
  }
  std::string BuildIdPath() const {
    return "/.build-id/" + place_.build_id.substr(0, 2) + "/" + place_.build_id.substr(2) +
           ".debug";
  }
  void ExpectDebugInfo(const SymbolizerOptions& options, const std::string& debug_file) {
    const std::vector<Frame> frames = FramesOf(place_, options);
    ASSERT_EQ(frames.size(), 3u);
    EXPECT_EQ(frames[0].function, "shapes::Inner(int)");
    EXPECT_EQ(frames[2].line, LineOf("run"));
    const ModuleReport report = ReportOf(place_, options);
    EXPECT_EQ(report.state, ModuleState::kDebugInfo);
    EXPECT_EQ(report.debug_file, debug_file);
  }
  void ExpectNothingButOffset(ModuleState state, const std::string& reason,
                              const SymbolizerOptions& options = {}) {
    const std::vector<Frame> frames = FramesOf(place_, options);
    ASSERT_EQ(frames.size(), 1u);
    EXPECT_EQ(frames[0].function, ModuleAndOffset(place_));
    EXPECT_EQ(frames[0].line, 0);
    const ModuleReport report = ReportOf(place_, options);
    EXPECT_EQ(report.state, state);
    EXPECT_THAT(report.reason, HasSubstr(reason));
  }
  std::string library() const { return folder_ / "libsubject.so"; }

  TemporaryFolder folder_;
  Place place_;
};

TEST_F(ModuleFileTest, FindsDebugInformationByBuildId) {
  Build();
  const std::string debug_file = folder_ / ("debug" + BuildIdPath());
  SplitTo(debug_file, "");
  ExpectDebugInfo({"", {folder_ / "debug"}, true}, debug_file);
  EXPECT_EQ(ReportOf(place_).state, ModuleState::kSymbolTable);
}

TEST_F(ModuleFileTest, FindsDebugInformationUnderTheSysroot) {
  Build();
  const std::string root = folder_ / "root";
  const std::string debug_file = root + "/usr/lib/debug" + BuildIdPath();
  SplitTo(debug_file, "");
  fs::create_directories(root + folder_.path());
  fs::rename(library(), root + library());
  ExpectDebugInfo({root, {}, true}, debug_file);
  ExpectDebugInfo({root + "/", {}, true}, debug_file);
}

TEST_F(ModuleFileTest, FindsDebugInformationByTheDebugLink) {
  Build();
  SplitTo(folder_ / "libsubject.so.debug", folder_ / "libsubject.so.debug");
  ExpectDebugInfo({}, folder_ / "libsubject.so.debug");
}

TEST_F(ModuleFileTest, FindsDebugInformationInTheHiddenFolder) {
  Build();
  SplitTo(folder_ / ".debug/libsubject.so.debug", folder_ / ".debug/libsubject.so.debug");
  ExpectDebugInfo({}, folder_ / ".debug/libsubject.so.debug");
}

TEST_F(ModuleFileTest, FindsDebugInformationByTheDebugLinkInAGivenFolder) {
  Build();
  SplitTo(folder_ / "elsewhere/x.debug", folder_ / "elsewhere/x.debug");
  ExpectDebugInfo({"", {folder_ / "elsewhere"}, true}, folder_ / "elsewhere/x.debug");
}

TEST_F(ModuleFileTest, WithoutABuildIdTheLinksChecksumDecides) {
  Build("-O2 -g -Wl,--build-id=none");
  ASSERT_EQ(place_.build_id, "");
  SplitTo(folder_ / "libsubject.so.debug", folder_ / "libsubject.so.debug");
  ExpectDebugInfo({}, folder_ / "libsubject.so.debug");
  std::ofstream(folder_ / "libsubject.so.debug", std::ios::app) << "changed";
  EXPECT_EQ(ReportOf(place_).state, ModuleState::kSymbolTable);
}

TEST_F(ModuleFileTest, DebugInformationOfAnotherBuildIsNotUsed) {
  Build();
  const std::string debug_file = folder_ / ("debug" + BuildIdPath());
  SplitTo(debug_file, "");
  Compile(debug_file, "-O2 -g -DBUILD=2");
  EXPECT_EQ(ReportOf(place_, {"", {folder_ / "debug"}, true}).state, ModuleState::kSymbolTable);
}

TEST_F(ModuleFileTest, AnotherBuildAtTheSamePathIsNotUsed) {
  Build();
  const std::string traced = place_.build_id;
  Compile(library(), "-O2 -g -DBUILD=2");
  ExpectNothingButOffset(ModuleState::kMismatch,
                         library() + " is another file than was traced: its build-id is ");
  EXPECT_THAT(ReportOf(place_).reason, HasSubstr(", not " + traced));
}

TEST_F(ModuleFileTest, ABuildIdThatCameOrWentIsAMismatch) {
  Build();
  Compile(library(), "-O2 -g -Wl,--build-id=none");
  ExpectNothingButOffset(ModuleState::kMismatch, "its build-id is none, not ");
  place_.build_id = "";
  Compile(library());
  ExpectNothingButOffset(ModuleState::kMismatch, ", not none");
}

TEST_F(ModuleFileTest, WithoutBuildIdsTheSizeInMemoryMustAgree) {
  Build("-O2 -g -Wl,--build-id=none");
  ExpectDebugInfo({}, "");
  place_.end += 1 << 16;
  ExpectNothingButOffset(ModuleState::kMismatch, "its size in memory differs");
}

TEST_F(ModuleFileTest, AMissingFileIsReported) {
  Build();
  fs::remove(library());
  ExpectNothingButOffset(ModuleState::kMissing, "there is no " + library());
  ExpectNothingButOffset(ModuleState::kMissing, "there is no " + (folder_ / "root") + library(),
                         [&] {
                           fs::create_directories(folder_ / "root");
                           return SymbolizerOptions{folder_ / "root", {}, true};
                         }());
}

TEST_F(ModuleFileTest, WhatIsNoElfFileIsReported) {
  Build();
  std::ofstream(library(), std::ios::trunc) << "INPUT(libother.so)\n";
  ExpectNothingButOffset(ModuleState::kUnreadable, library() + " is no ELF file");
  std::ofstream(library(), std::ios::trunc).close();
  ExpectNothingButOffset(ModuleState::kUnreadable, library() + " is no ELF file");
  fs::remove(library());
  fs::create_directory(library());
  ExpectNothingButOffset(ModuleState::kUnreadable, library() + " is no file");
  fs::remove(library());
  ASSERT_EQ(mkfifo(library().c_str(), 0600), 0);
  ExpectNothingButOffset(ModuleState::kUnreadable, library() + " is no file");
}

TEST_F(ModuleFileTest, AFileCutAtAnyLengthNamesNothingWrong) {
  Build();
  const uintmax_t whole = fs::file_size(library());
  fs::copy(library(), folder_ / "whole");
  for (uintmax_t size = 1; size < whole; size += whole / 97) {
    fs::copy(folder_ / "whole", library(), fs::copy_options::overwrite_existing);
    fs::resize_file(library(), size);
    const std::string function = FramesOf(place_)[0].function;
    const std::string symbol = absl::StrFormat("subject_run+0x%x", place_.pc - place_.function);
    EXPECT_TRUE(function == ModuleAndOffset(place_) || function == symbol)
        << size << ": " << function;
  }
}

TEST_F(ModuleFileTest, ADamagedFileIsSurvived) {
  Build();
  std::ifstream stream(library(), std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(stream)),
                          std::istreambuf_iterator<char>());
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    std::string damaged = whole;
    // The sections of debug information and the section headers are in the second half.
    for (int i = 0; i < 8; ++i) {
      damaged[whole.size() / 3 + random() % (whole.size() * 2 / 3)] = static_cast<char>(random());
    }
    fs::remove(library());
    std::ofstream(library(), std::ios::binary) << damaged;
    EXPECT_FALSE(FramesOf(place_).empty());
  }
}

TEST_F(ModuleFileTest, LinksInsideASysrootStayInside) {
  Build();
  const std::string root = folder_ / "root";
  fs::create_directories(root + "/real");
  fs::create_directories(root + folder_.path());
  fs::rename(library(), root + "/real/libsubject.so");
  fs::create_symlink("/real/libsubject.so", root + library());
  ExpectDebugInfo({root, {}, true}, "");
}

TEST_F(ModuleFileTest, ReportsComeWithTheProblemsFirst) {
  Build();
  auto symbolizer = Symbolizer::Create({});
  ASSERT_TRUE(symbolizer.ok());
  const Place missing{0x1000, 0, "/no/such.so", "ab", 0x1000, 0x2000, 0x1000};
  (*symbolizer)->Symbolize(place_.pc, place_.module());
  (*symbolizer)->Symbolize(missing.pc, missing.module());
  const std::vector<ModuleReport> reports = (*symbolizer)->Reports();
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_EQ(reports[0].path, "/no/such.so");
  EXPECT_EQ(reports[1].path, library());
  EXPECT_EQ(reports[1].build_id, place_.build_id);
}

}  // namespace
}  // namespace gputrace::symbols

// SPDX-License-Identifier: Apache-2.0
// What a module's debug information, or its lack, comes out as.
#include "analyzer/symbols/symbolizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_format.h"
#include "tests/unit/symbols/subject.h"

namespace gputrace::symbols {
namespace {

using testing::EndsWith;

// The whole of what subject_run should be symbolised as.
void ExpectInlinedFrames(const Place& place, const std::vector<Frame>& frames) {
  ASSERT_EQ(frames.size(), 3u);
  EXPECT_EQ(frames[0].function, "shapes::Inner(int)");
  EXPECT_EQ(frames[0].line, LineOf("inner"));
  EXPECT_TRUE(frames[0].inlined);
  EXPECT_EQ(frames[1].function, "shapes::Outer<int>::Middle(int)");
  EXPECT_EQ(frames[1].line, LineOf("middle"));
  EXPECT_TRUE(frames[1].inlined);
  EXPECT_EQ(frames[2].function, "subject_run");
  EXPECT_EQ(frames[2].line, LineOf("run"));
  EXPECT_FALSE(frames[2].inlined);
  for (const Frame& frame : frames) {
    EXPECT_THAT(frame.file, EndsWith("/subject_library.cc"));
    EXPECT_EQ(frame.file[0], '/');
    EXPECT_EQ(frame.module, place.path);
    EXPECT_FALSE(frame.python);
  }
}

struct Variant {
  const char* name;
  const char* flags;
  const char* compiler;
};

class EveryVariant : public testing::TestWithParam<Variant> {};

TEST_P(EveryVariant, GivesInlinedFrames) {
  const TemporaryFolder folder;
  Compile(folder / "libsubject.so", GetParam().flags, GetParam().compiler);
  const Place place = Call(folder / "libsubject.so", "subject_run");
  ExpectInlinedFrames(place, FramesOf(place));
  const ModuleReport report = ReportOf(place);
  EXPECT_EQ(report.state, ModuleState::kDebugInfo);
  EXPECT_EQ(report.reason, "");
  EXPECT_EQ(report.addresses, 1u);
}

INSTANTIATE_TEST_SUITE_P(
    Symbolizer, EveryVariant,
    testing::Values(Variant{"Dwarf5", "-O2 -g -gdwarf-5", GPUTRACE_TEST_CXX},
                    Variant{"Dwarf4", "-O2 -g -gdwarf-4", GPUTRACE_TEST_CXX},
                    Variant{"Dwarf3", "-O2 -g -gdwarf-3 -gstrict-dwarf", GPUTRACE_TEST_CXX},
                    Variant{"Compressed", "-O2 -g -gz", GPUTRACE_TEST_CXX},
                    Variant{"CompressedOldStyle", "-O2 -g -gz=zlib-gnu", GPUTRACE_TEST_CXX},
                    Variant{"Split", "-O2 -g -gsplit-dwarf", GPUTRACE_TEST_CXX},
                    Variant{"TypeUnits", "-O2 -g -fdebug-types-section", GPUTRACE_TEST_CXX},
                    Variant{"MinimalLines", "-O2 -g -gno-column-info", GPUTRACE_TEST_CXX},
                    Variant{"NoOptimisation", "-O0 -g", GPUTRACE_TEST_CXX},
                    Variant{"LinkTimeOptimisation", "-O2 -g -flto", GPUTRACE_TEST_CXX},
                    // Clang writes no .debug_aranges.
                    Variant{"Clang", "-O2 -g", "clang++-16"},
                    Variant{"ClangSplit", "-O2 -g -gsplit-dwarf", "clang++-16"}),
    [](const auto& variant) { return variant.param.name; });

TEST(Symbolizer, ACallThatIsTheLastInstructionStillBelongsToItsFunction) {
  const TemporaryFolder folder;
  Compile(folder / "libsubject.so");
  const Place place = Call(folder / "libsubject.so", "subject_last_call");
  const std::vector<Frame> frames = FramesOf(place);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].function, "subject_last_call");
  EXPECT_EQ(frames[0].line, LineOf("last"));
}

TEST(Symbolizer, AnExactAddressIsNotMovedBack) {
  const TemporaryFolder folder;
  Compile(folder / "libsubject.so");
  const Place place = Call(folder / "libsubject.so", "subject_run");
  auto symbolizer = Symbolizer::Create({});
  const auto function = [&](AddressKind kind) {
    return (*symbolizer)->Symbolize(place.function, place.module(), kind).back().function;
  };
  EXPECT_EQ(function(AddressKind::kExact), "subject_run");
  EXPECT_NE(function(AddressKind::kReturn), "subject_run");
}

TEST(Symbolizer, FallsBackToTheSymbolTable) {
  const TemporaryFolder folder;
  Compile(folder / "libsubject.so", "-O2 -g0");
  const Place run = Call(folder / "libsubject.so", "subject_run");
  const std::vector<Frame> frames = FramesOf(run);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].function, absl::StrFormat("subject_run+0x%x", run.pc - run.function));
  EXPECT_EQ(frames[0].file, "");
  EXPECT_EQ(frames[0].line, 0);
  EXPECT_EQ(ReportOf(run).state, ModuleState::kSymbolTable);
  EXPECT_EQ(ReportOf(run).reason, "it has no debug information");
}

TEST(Symbolizer, DemanglesSymbolsWithoutDebugInformation) {
  const TemporaryFolder folder;
  Compile(folder / "libsubject.so", "-O2 -g0");
  const Place place = Call(folder / "libsubject.so", "subject_run_hidden");
  EXPECT_THAT(FramesOf(place)[0].function, testing::StartsWith("Hidden()+0x"));
}

TEST(Symbolizer, UsesExportedNamesOfAStrippedModule) {
  const TemporaryFolder folder;
  Compile(folder / "libsubject.so");
  RunShell("strip " + (folder / "libsubject.so"));
  const Place run = Call(folder / "libsubject.so", "subject_run");
  EXPECT_EQ(FramesOf(run)[0].function, absl::StrFormat("subject_run+0x%x", run.pc - run.function));
}

TEST(Symbolizer, EndsAtModuleAndOffset) {
  const TemporaryFolder folder;
  Compile(folder / "libsubject.so");
  RunShell("strip " + (folder / "libsubject.so"));
  const Place hidden = Call(folder / "libsubject.so", "subject_run_hidden");
  const std::vector<Frame> frames = FramesOf(hidden);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].function, absl::StrFormat("libsubject.so+0x%x", hidden.pc - hidden.bias));
  EXPECT_EQ(frames[0].module, hidden.path);
}

TEST(Symbolizer, OpensNothingWhenDisabled) {
  const TemporaryFolder folder;
  Compile(folder / "libsubject.so");
  const Place run = Call(folder / "libsubject.so", "subject_run");
  SymbolizerOptions options;
  options.enabled = false;
  EXPECT_EQ(FramesOf(run, options)[0].function,
            absl::StrFormat("libsubject.so+0x%x", run.pc - run.bias));
  EXPECT_EQ(ReportOf(run, options).state, ModuleState::kDisabled);
}

TEST(Symbolizer, AnswersTheSameForAModuleAtAnotherAddress) {
  const TemporaryFolder folder;
  Compile(folder / "libsubject.so");
  Place place = Call(folder / "libsubject.so", "subject_run");
  constexpr uint64_t kMoved = 0x10000000;
  auto symbolizer = Symbolizer::Create({});
  const std::vector<Frame>* first = &(*symbolizer)->Symbolize(place.pc, place.module());
  for (uint64_t* address : {&place.pc, &place.bias, &place.start, &place.end}) *address += kMoved;
  EXPECT_EQ(&(*symbolizer)->Symbolize(place.pc, place.module()), first);
  EXPECT_EQ((*symbolizer)->Reports().size(), 1u);
}

TEST(Symbolizer, AnAddressInNoModuleIsItself) {
  auto symbolizer = Symbolizer::Create({});
  const std::vector<Frame>& frames = (*symbolizer)->SymbolizeUnknown(0x7f0012345678);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].function, "0x7f0012345678");
  EXPECT_EQ(frames[0].module, "");
}

TEST(Symbolizer, AnAddressOutsideOfTheModulesCodeNamesNoFunction) {
  const TemporaryFolder folder;
  Compile(folder / "libsubject.so");
  Place place = Call(folder / "libsubject.so", "subject_run");
  for (const uint64_t address : {uint64_t{0}, uint64_t{1}, uint64_t{0xffffffffffff}, UINT64_MAX}) {
    place.pc = place.bias + address;
    EXPECT_EQ(FramesOf(place)[0].function, absl::StrFormat("libsubject.so+0x%x", address));
  }
}

TEST(Symbolizer, TheKernelsOwnModuleHasNoFile) {
  const Place vdso{0x7fff00001234, 0, "linux-vdso.so.1", "abcd", 0x7fff00001000, 0x7fff00002000,
                   0x7fff00001000};
  EXPECT_EQ(FramesOf(vdso)[0].function, "linux-vdso.so.1+0x234");
  EXPECT_EQ(ReportOf(vdso).state, ModuleState::kNoFile);
}

TEST(SymbolizerOptions, FoldersMustExist) {
  SymbolizerOptions options;
  options.sysroot = "/no/such/folder";
  EXPECT_EQ(Symbolizer::Create(options).status().code(), absl::StatusCode::kNotFound);
  options.sysroot = "/etc/passwd";
  EXPECT_EQ(Symbolizer::Create(options).status().code(), absl::StatusCode::kInvalidArgument);
  options.sysroot = "";
  options.debug_dirs = {"/usr", "/no/such/folder"};
  EXPECT_EQ(Symbolizer::Create(options).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace gputrace::symbols

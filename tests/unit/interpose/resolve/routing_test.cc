// SPDX-License-Identifier: Apache-2.0
// How answers of resolvers are turned into thunks, with a small table in place of the driver's.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

#include "interpose/hooks/entry_table.h"
#include "interpose/resolve/bases.h"
#include "interpose/resolve/coverage.h"
#include "interpose/resolve/dlsym.h"
#include "interpose/resolve/wrappers.h"

namespace gputrace::interpose {

const uint16_t kEntryCount = 3;
constexpr uint16_t kAlloc = 1, kAllocPerThread = 2, kFree = 3;
static int g_thunks[5][1 + kBoundThunks];
#define THUNKS(id) \
  &g_thunks[id][0], { &g_thunks[id][1], &g_thunks[id][2], &g_thunks[id][3], &g_thunks[id][4] }
const Wrapper kWrappers[] = {{},
                             {"cuMemAlloc_v2", THUNKS(kAlloc)},
                             {"cuMemAlloc_v2_ptsz", THUNKS(kAllocPerThread)},
                             {"cuMemFree_v2", THUNKS(kFree)},
                             {"cuGetProcAddress", THUNKS(4)}};
const uint16_t kWrapperCount = 4;
std::atomic<const void*> g_bound[5][kBoundThunks];
std::atomic<const void*> g_exported[5];

constexpr BaseVersion kResolverVersions[] = {{"cuGetProcAddress", 11030, false, false, 4}};
constexpr BaseVersion kAllocVersions[] = {
    {"cuMemAlloc", 2000, false, true, 0},
    {"cuMemAlloc_v2", 3020, false, false, kAlloc},
    {"cuMemAlloc_v2_ptsz", 3020, true, false, kAllocPerThread}};
constexpr BaseVersion kFreeVersions[] = {{"cuMemFree_v2", 3020, false, false, kFree}};
constexpr BaseVersion kInfoVersions[] = {{"cuPointerGetAttribute", 4000, false, false, 0}};
const Base kBases[] = {{"cuGetProcAddress", kResolverVersions, 1},
                       {"cuMemAlloc", kAllocVersions, 3},
                       {"cuMemFree", kFreeVersions, 1},
                       {"cuPointerGetAttribute", kInfoVersions, 1}};
const uint32_t kBaseCount = 4;
const int kNewestVersion = 13050;

void* FindNextGlobal(const char*) { return nullptr; }

namespace {

using trace::CoverageWhat;

uint32_t Noted(CoverageWhat what, const std::string& name) {
  uint32_t count = 0;
  for (uint32_t i = 0; CoverageNoteAt(i) != nullptr; ++i) {
    const CoverageNote& note = *CoverageNoteAt(i);
    if (note.what == what && note.name == name) count += note.count;
  }
  return count;
}

void* g_answer;
CUresult Resolver(const char*, void** out, int, cuuint64_t, CUdriverProcAddressQueryResult*) {
  *out = g_answer;
  return CUDA_SUCCESS;
}

class Routing : public ::testing::Test {
 protected:
  Routing() {
    for (auto& row : g_bound) {
      for (auto& slot : row) slot = nullptr;
    }
    driver_ = dlopen(SUBJECT, RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(driver_, nullptr) << dlerror();
  }
  ~Routing() override { dlclose(driver_); }

  void* Export(const char* name) { return dlsym(driver_, name); }
  void* Private(const char* name) { return reinterpret_cast<void* (*)()>(dlsym(driver_, name))(); }
  static void* Route(const char* name, int version, uint64_t flags, void* real) {
    return WrapResolved({name, version, flags, real}, Resolver);
  }
  static void* Thunk(uint16_t id, int slot = 0) {
    return const_cast<void*>(kWrappers[id].bound[slot]);
  }

  void* driver_;
};

TEST_F(Routing, ThePointerDecidesAndNotWhatWasAskedFor) {
  EXPECT_EQ(Route("cuMemAlloc", 3020, 0, Export("cuMemAlloc_v2")), Thunk(kAlloc));
  EXPECT_EQ(Route("cuMemAlloc", 2000, 0, Export("cuMemAlloc_v2")), Thunk(kAlloc));
  EXPECT_EQ(Route("cuMemAlloc", 12000, 2, Export("cuMemAlloc_v2")), Thunk(kAlloc));
  EXPECT_EQ(g_bound[kAlloc][0], Export("cuMemAlloc_v2"));
}

TEST_F(Routing, AnOldAbiIsHandedOutAsItIsAndNoted) {
  const uint32_t before = Noted(CoverageWhat::kUnwrappedPointer, "cuMemAlloc");
  EXPECT_EQ(Route("cuMemAlloc", 3020, 0, Export("cuMemAlloc")), Export("cuMemAlloc"));
  EXPECT_EQ(Noted(CoverageWhat::kUnwrappedPointer, "cuMemAlloc"), before + 1);
}

TEST_F(Routing, AnAbiThatIsNewerThanTheTableIsNeverTakenForAnOlderOne) {
  EXPECT_EQ(Route("cuMemAlloc", 14000, 0, Export("cuMemAlloc_v3")), Export("cuMemAlloc_v3"));
  EXPECT_EQ(Route("cuMemAlloc", 12000, 0, Export("cuMemAlloc_v3")), Export("cuMemAlloc_v3"));
  EXPECT_EQ(Noted(CoverageWhat::kUnwrappedPointer, "cuMemAlloc_v3"), 2u);
}

TEST_F(Routing, OtherPointersThanTheExportsGoByNameAndVersion) {
  void* real = Private("private_address");
  void* per_thread = Private("private_per_thread_address");
  EXPECT_EQ(Route("cuMemAlloc", 3020, 0, real), Thunk(kAlloc));
  EXPECT_EQ(Route("cuMemAlloc", 13050, 2, per_thread), Thunk(kAllocPerThread));
  EXPECT_EQ(Route("cuMemAlloc", 2000, 0, real), real);
  EXPECT_EQ(Route("cuMemFree", 2000, 0, real), real) << "older than all that is known";
}

TEST_F(Routing, OtherPointersOfALaterVersionAreKnownIfAnEarlierOneGivesTheSame) {
  g_answer = Private("private_address");
  EXPECT_EQ(Route("cuMemAlloc", 14000, 0, g_answer), Thunk(kAlloc));
  void* other = Private("private_per_thread_address");
  const uint32_t before = Noted(CoverageWhat::kUnwrappedPointer, "cuMemAlloc");
  EXPECT_EQ(Route("cuMemAlloc", 14000, 0, other), other);
  EXPECT_EQ(Noted(CoverageWhat::kUnwrappedPointer, "cuMemAlloc"), before + 1);
}

TEST_F(Routing, NamesThatTheTableDoesNotKnow) {
  int function = 0;
  EXPECT_EQ(Route("cuMemFancyAlloc", 14000, 0, &function), &function);
  EXPECT_EQ(Route("cuMemFancyAlloc", 14000, 0, &function), &function);
  EXPECT_EQ(Route("cuFancyLaunch", 14000, 0, &function), &function);
  EXPECT_EQ(Noted(CoverageWhat::kUnknownEntry, "cuMemFancyAlloc"), 2u);
  EXPECT_EQ(Noted(CoverageWhat::kUnknownEntry, "cuFancyLaunch"), 0u);
}

TEST_F(Routing, WhatIsNotTracedIsHandedOutAsItIs) {
  int function = 0;
  EXPECT_EQ(Route("cuPointerGetAttribute", 4000, 0, &function), &function);
  EXPECT_EQ(Route("", 0, 0, &function), &function) << "the runtime's probe";
  EXPECT_EQ(Route("cuMemAlloc", 3020, 0, nullptr), nullptr);
}

TEST_F(Routing, ItAlsoWorksForTheFirstResolver) {
  const GetProcAddressV1 first = [](const char*, void** out, int, cuuint64_t) {
    *out = g_answer;
    return CUDA_SUCCESS;
  };
  g_answer = Private("private_address");
  EXPECT_EQ(WrapResolved({"cuMemAlloc", 14000, 0, g_answer}, first), Thunk(kAlloc));
}

TEST_F(Routing, EachPointerHasAThunkOfItsOwnWhileThereAreAny) {
  int functions[kBoundThunks + 1];
  for (int i = 0; i < kBoundThunks; ++i) EXPECT_EQ(Wrap(kFree, &functions[i]), Thunk(kFree, i));
  EXPECT_EQ(Wrap(kFree, &functions[2]), Thunk(kFree, 2)) << "again the same";
  EXPECT_EQ(Wrap(kFree, &functions[kBoundThunks]), &functions[kBoundThunks]);
  EXPECT_EQ(Noted(CoverageWhat::kUnwrappedPointer, "cuMemFree_v2"), 1u);
}

TEST_F(Routing, WhatIsWrappedIsNotWrappedAgain) {
  int function = 0;
  void* thunk = Wrap(kFree, &function);
  EXPECT_EQ(Wrap(kFree, thunk), thunk);
  void* exported = const_cast<void*>(kWrappers[kFree].exported);
  EXPECT_EQ(Wrap(kFree, exported), exported);
  EXPECT_EQ(Wrap(kFree, nullptr), nullptr);
}

TEST_F(Routing, ThreadsThatWrapAtOnceGetTheSame) {
  int functions[kBoundThunks];
  std::vector<std::vector<void*>> thunks(4, std::vector<void*>(kBoundThunks));
  std::vector<std::thread> threads;
  for (size_t t = 0; t < thunks.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kBoundThunks; ++i) {
        const int at = (i + static_cast<int>(t)) % kBoundThunks;
        thunks[t][static_cast<size_t>(at)] = Wrap(kAlloc, &functions[at]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& of_thread : thunks) EXPECT_EQ(of_thread, thunks[0]);
  EXPECT_EQ(std::set<void*>(thunks[0].begin(), thunks[0].end()).size(), size_t{kBoundThunks});
}

TEST(Names, AreMatchedWholly) {
  EXPECT_EQ(FindWrapper("cuMemAlloc_v2"), kAlloc);
  EXPECT_EQ(FindWrapper("cuGetProcAddress"), 4);
  for (const char* name : {"", "cu", "cuMemAlloc", "cuMemAlloc_v", "cuMemAlloc_v22",
                           "cuMemAlloc_v2_pts", "cuMemAlloc_V2", "cuGetProcAddress_v2"}) {
    EXPECT_EQ(FindWrapper(name), 0) << name;
  }
}

TEST(Names, SymbolsAreFoundBySuffix) {
  EXPECT_EQ(FindSymbol("cuMemAlloc_v2_ptsz"), &kAllocVersions[2]);
  EXPECT_EQ(FindSymbol("cuMemAlloc"), &kAllocVersions[0]);
  EXPECT_EQ(FindSymbol("cuMemAlloc_v3"), nullptr);
  EXPECT_EQ(FindSymbol("cuMemAlloc_version"), nullptr);
  EXPECT_EQ(FindSymbol(std::string(300, 'c').c_str()), nullptr);
}

TEST(Names, EntriesWhoseCallsAreMissed) {
  CoverageWhat what;
  EXPECT_TRUE(IsMissedEntry("cuMemAlloc", &what));
  EXPECT_EQ(what, CoverageWhat::kUnwrappedPointer);
  EXPECT_TRUE(IsMissedEntry("cuMemAlloc_v3", &what));
  EXPECT_EQ(what, CoverageWhat::kUnknownEntry);
  EXPECT_FALSE(IsMissedEntry("cuPointerGetAttribute", &what));
  EXPECT_FALSE(IsMissedEntry("cuFancyLaunch", &what));
}

TEST(Exported, WithoutADriverThereIsNoNext) {
  EXPECT_EQ(ExportedNext(kFree), nullptr);
  EXPECT_EQ(WaysOf(kFree), 0) << "and nothing has been reached";
}

TEST_F(Routing, TheWayIsNotedOnce) {
  Route("cuMemAlloc", 3020, 0, Export("cuMemAlloc_v2"));
  const uint32_t before = CoverageChanges();
  Route("cuMemAlloc", 3020, 0, Export("cuMemAlloc_v2"));
  EXPECT_EQ(CoverageChanges(), before);
  EXPECT_EQ(WaysOf(kAlloc), 1u << static_cast<unsigned>(CoverageWhat::kProcAddress));
}

TEST(Coverage, NotesAreCountedAndBounded) {
  const std::string long_name(100, 'n');
  NoteCoverage(CoverageWhat::kUnknownEntry, long_name.c_str());
  for (int i = 0; i < 200; ++i) {
    NoteCoverage(CoverageWhat::kUnknownEntry, ("cuMemNew" + std::to_string(i)).c_str());
  }
  uint32_t count = 0;
  while (CoverageNoteAt(count) != nullptr) ++count;
  EXPECT_EQ(count, kMaxCoverageNotes);
  EXPECT_EQ(Noted(CoverageWhat::kUnknownEntry, long_name.substr(0, 63)), 1u);
  EXPECT_EQ(CoverageNoteAt(kMaxCoverageNotes), nullptr);
}

}  // namespace
}  // namespace gputrace::interpose

// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "interpose/resolve/elf_lookup.h"

#ifdef __SANITIZE_THREAD__
// The loader's lock is one that the sanitizer does not see taken, so what the loader allocates and
// frees under it would seem to race with those who walk its list while they hold it.
extern "C" const char* __tsan_default_suppressions() {
  return "called_from_lib:ld-linux-x86-64.so.2";
}
#endif

namespace gputrace::interpose {
namespace {

std::string Path(const std::string& name) { return std::string(SUBJECTS) + "/lib" + name + ".so"; }

const link_map* MapOf(void* handle) {
  link_map* map = nullptr;
  EXPECT_EQ(dlinfo(handle, RTLD_DI_LINKMAP, &map), 0);
  return map;
}

class ElfSubject : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    handle_ = dlopen(Path(GetParam()).c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(handle_, nullptr) << dlerror();
    object_ = MapOf(handle_);
  }
  void TearDown() override {
    if (handle_ != nullptr) dlclose(handle_);
  }

  void* handle_ = nullptr;
  const link_map* object_ = nullptr;
};

TEST_P(ElfSubject, FindsWhatDlsymFinds) {
  // With two versions the default one; of an indirect function what its resolver chose.
  for (const char* name :
       {"subject_answer", "subject_data", "subject_versioned", "subject_indirect"}) {
    EXPECT_NE(FindInObject(object_, name), nullptr) << name;
    EXPECT_EQ(FindInObject(object_, name), dlsym(handle_, name)) << name;
  }
}

TEST_P(ElfSubject, ListsWhatItExports) {
  std::set<std::string> names;
  ForEachExport(
      object_,
      [](const char* name, void* set) { static_cast<std::set<std::string>*>(set)->insert(name); },
      &names);
  EXPECT_TRUE(names.contains("subject_answer"));
  EXPECT_TRUE(names.contains("subject_data"));
  EXPECT_FALSE(names.contains("hidden"));
  EXPECT_FALSE(names.contains("dlsym")) << "what it needs of others";
}

TEST_P(ElfSubject, NamesMatchWholly) {
  for (const char* name :
       {"subject_answe", "subject_answers", "hidden", "versioned_old", "", "printf"}) {
    EXPECT_EQ(FindInObject(object_, name), nullptr) << name;
  }
}

TEST_P(ElfSubject, KnowsWhatItExportsAtAnAddress) {
  EXPECT_STREQ(ExportAt(object_, dlsym(handle_, "subject_answer")), "subject_answer");
  const auto hidden = reinterpret_cast<void* (*)()>(dlsym(handle_, "subject_hidden_address"));
  EXPECT_EQ(ExportAt(object_, hidden()), nullptr);
  EXPECT_EQ(ExportAt(object_, nullptr), nullptr);
}

TEST_P(ElfSubject, CodeAndDataBelongToIt) {
  EXPECT_EQ(ObjectOf(dlsym(handle_, "subject_answer")), object_);
  EXPECT_EQ(ObjectOf(dlsym(handle_, "subject_data")), object_);
}

INSTANTIATE_TEST_SUITE_P(All, ElfSubject,
                         ::testing::Values("elf_subject_gnu", "elf_subject_sysv",
                                           // Its first page is not where its addresses count from.
                                           "elf_subject_high"),
                         [](const auto& subject) { return std::string(subject.param); });

TEST(ElfLookup, MemoryOfNoObjectBelongsToNone) {
  int on_the_stack = 0;
  const auto on_the_heap = std::make_unique<int>(0);
  EXPECT_EQ(ObjectOf(&on_the_stack), nullptr);
  EXPECT_EQ(ObjectOf(on_the_heap.get()), nullptr);
  EXPECT_EQ(ObjectOf(nullptr), nullptr);
}

TEST(ElfLookup, TheProgramItselfIsOurOwnObjectHere) {
  EXPECT_EQ(OwnObject(), ObjectOf(reinterpret_cast<const void*>(&OwnObject)));
  ASSERT_NE(OwnObject(), nullptr);
}

TEST(ElfLookup, LibcsFunctionsAreLibcs) {
  void* libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(libc, nullptr);
  for (const char* name : {"pthread_create", "dlsym", "dlvsym", "dl_iterate_phdr", "dlerror"}) {
    EXPECT_EQ(FindInLibc(name), dlsym(libc, name)) << name;
  }
  EXPECT_EQ(FindInLibc("no_such_function"), nullptr);
}

TEST(ElfLookup, SearchesInLoadOrder) {
  void* first = dlopen(Path("elf_subject_gnu").c_str(), RTLD_NOW | RTLD_LOCAL);
  void* second = dlopen(Path("elf_subject_sysv").c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_EQ(FindAfter(nullptr, "subject_answer"), dlsym(first, "subject_answer"));
  EXPECT_EQ(FindAfter(MapOf(first), "subject_answer"), dlsym(second, "subject_answer"));
  EXPECT_EQ(FindAfter(MapOf(second), "subject_answer"), nullptr);
  dlclose(second);
  dlclose(first);
}

TEST(ElfLookup, TheScopeOfALibraryIsWhatItDependsOn) {
  void* other = dlopen(Path("elf_subject_sysv").c_str(), RTLD_NOW | RTLD_LOCAL);
  void* user = dlopen(Path("elf_subject_user").c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(user, nullptr) << dlerror();
  EXPECT_EQ(FindInScopeOf(MapOf(user), "subject_answer"), dlsym(user, "subject_answer"));
  EXPECT_EQ(FindInScopeOf(MapOf(user), "no_such_function"), nullptr);
  dlclose(user);
  dlclose(other);
}

TEST(ElfLookup, OtherThreadsMayLoadAndUnload) {
  std::atomic<bool> stop{false};
  std::thread loader([&stop] {
    while (!stop) {
      for (const char* name : {"elf_subject_gnu", "elf_subject_sysv", "elf_subject_high"}) {
        void* handle = dlopen(Path(name).c_str(), RTLD_NOW | RTLD_LOCAL);
        if (handle != nullptr) dlclose(handle);
      }
    }
  });
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
  int rounds = 0;
  for (; std::chrono::steady_clock::now() < end; ++rounds) {
    EXPECT_EQ(FindAfter(nullptr, "no_such_function"), nullptr);
    EXPECT_EQ(DriverObject(), nullptr);
    EXPECT_EQ(ObjectOf(reinterpret_cast<const void*>(&OwnObject)), OwnObject());
  }
  stop = true;
  loader.join();
  EXPECT_GT(rounds, 10);
}

}  // namespace
}  // namespace gputrace::interpose

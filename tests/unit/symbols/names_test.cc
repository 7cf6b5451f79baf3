// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>

#include "analyzer/symbols/demangle.h"
#include "analyzer/symbols/elf_file.h"
#include "analyzer/symbols/symbol_table.h"
#include "tests/unit/symbols/subject.h"

namespace gputrace::symbols {
namespace {

TEST(Demangle, KnowsCppNames) {
  EXPECT_EQ(Demangle("_ZN3fooEv"), "foo()");
  EXPECT_EQ(Demangle("_ZNSt6vectorIiSaIiEE9push_backEOi"),
            "std::vector<int, std::allocator<int> >::push_back(int&&)");
  EXPECT_EQ(Demangle("_ZZ4mainENKUlvE_clEv"), "main::{lambda()#1}::operator()() const");
  EXPECT_EQ(Demangle("_Z3foov.cold"), "foo() [clone .cold]");
  EXPECT_EQ(Demangle("_Z3fooi.part.0"), "foo(int) [clone .part.0]");
}

TEST(Demangle, LeavesOtherNamesAlone) {
  for (const char* name :
       {"", "main", "cuMemAlloc_v2", "_Z", "_Znonsense", "PyEval_EvalFrameDefault"}) {
    EXPECT_EQ(Demangle(name), name);
  }
}

TEST(Demangle, GivesUpOnAbsurdNames) {
  const std::string deep = "_Z1f" + std::string(100'000, 'P') + "i";
  EXPECT_EQ(Demangle(deep), deep);
  const std::string shorter = "_Z1f" + std::string(10'000, 'P') + "i";
  EXPECT_FALSE(Demangle(shorter).empty());
}

// A library whose layout a test dictates.
class SymbolTableTest : public testing::Test {
 protected:
  void Assemble(const std::string& text) {
    const std::string source = folder_ / "code.s";
    RunShell("printf '" + text + "' > " + source + " && cc -nostdlib -shared -o " + library() +
             " " + source);
    auto file = ElfFile::Open("", library());
    ASSERT_TRUE(file.ok()) << file.status();
    file_ = *std::move(file);
    table_.emplace(file_->elf());
    void* handle = dlopen(library().c_str(), RTLD_NOW);
    ASSERT_NE(handle, nullptr) << dlerror();
    Dl_info info;
    void* base = dlsym(handle, "base");
    ASSERT_NE(dladdr(base, &info), 0);
    base_ = reinterpret_cast<uint64_t>(base) - reinterpret_cast<uint64_t>(info.dli_fbase);
    dlclose(handle);
  }
  std::string NameAt(uint64_t offset) const {
    const auto match = table_->Find(base_ + offset);
    return match ? std::string(match->name) : "-";
  }
  std::string library() const { return folder_ / "libcode.so"; }

  TemporaryFolder folder_;
  std::unique_ptr<ElfFile> file_;
  std::optional<SymbolTable> table_;
  uint64_t base_ = 0;
};

TEST_F(SymbolTableTest, PrefersGlobalNamesWithFewUnderscores) {
  Assemble(
      ".globl base, __alias, alias\\n.type base,@function\\n.type __alias,@function\\n"
      ".type alias,@function\\n.type local,@function\\n"
      "base: .skip 16\\n.size base,16\\n"
      "__alias:\\nalias:\\nlocal: .skip 16\\n"
      ".size __alias,16\\n.size alias,16\\n.size local,16\\n");
  EXPECT_EQ(NameAt(15), "base");
  EXPECT_EQ(NameAt(16), "alias");
  EXPECT_EQ(NameAt(31), "alias");
}

TEST_F(SymbolTableTest, KnowsWhereAFunctionEnds) {
  Assemble(
      ".globl base, after\\n.type base,@function\\n.type after,@function\\n"
      "base: .skip 8\\n.size base,8\\n.skip 8\\nafter: .skip 8\\n.size after,8\\n");
  EXPECT_EQ(NameAt(7), "base");
  EXPECT_EQ(NameAt(8), "-");
  EXPECT_EQ(NameAt(16), "after");
  EXPECT_EQ(NameAt(24), "-");
}

TEST_F(SymbolTableTest, ANameWithoutSizeReachesToTheNext) {
  Assemble(
      ".globl base, next\\nbase: .skip 32\\n.type next,@function\\nnext: .skip 4\\n.size "
      "next,4\\n");
  EXPECT_EQ(NameAt(31), "base");
  EXPECT_EQ(NameAt(32), "next");
}

TEST_F(SymbolTableTest, SeesAroundAFunctionInsideAnother) {
  Assemble(
      ".globl base, inside\\n.type base,@function\\n.type inside,@function\\n"
      "base: .skip 8\\ninside: .skip 8\\n.size inside,8\\n.skip 16\\n.size base,32\\n");
  EXPECT_EQ(NameAt(4), "base");
  EXPECT_EQ(NameAt(12), "inside");
  EXPECT_EQ(NameAt(20), "base");
}

}  // namespace
}  // namespace gputrace::symbols

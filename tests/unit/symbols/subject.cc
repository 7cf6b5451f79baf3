// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/symbols/subject.h"

#include <dlfcn.h>
#include <elf.h>
#include <gtest/gtest.h>
#include <link.h>

#include <algorithm>
#include <csetjmp>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "absl/strings/escaping.h"

namespace gputrace::symbols {
namespace {

constexpr char kSource[] = GPUTRACE_TEST_SOURCE_DIR "/subject_library.cc";

std::jmp_buf return_point;

void Leave() { std::longjmp(return_point, 1); }

std::string BuildIdIn(const char* notes, size_t size) {
  size_t at = 0;
  while (at + sizeof(ElfW(Nhdr)) <= size) {
    ElfW(Nhdr) note;
    memcpy(&note, notes + at, sizeof(note));
    const size_t name = at + sizeof(note);
    const size_t description = name + (note.n_namesz + 3) / 4 * 4;
    if (note.n_type == NT_GNU_BUILD_ID && memcmp(notes + name, "GNU", 4) == 0) {
      return absl::BytesToHexString({notes + description, note.n_descsz});
    }
    at = description + (note.n_descsz + 3) / 4 * 4;
  }
  return "";
}

int FillModule(dl_phdr_info* info, size_t, void* argument) {
  auto* place = static_cast<Place*>(argument);
  if (place->path != info->dlpi_name) return 0;
  place->bias = info->dlpi_addr;
  place->start = UINT64_MAX;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    const uint64_t first = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD) {
      place->start = std::min<uint64_t>(place->start, first);
      place->end = std::max<uint64_t>(place->end, first + segment.p_memsz);
    }
    if (segment.p_type == PT_NOTE && place->build_id.empty()) {
      place->build_id = BuildIdIn(reinterpret_cast<const char*>(first), segment.p_memsz);
    }
  }
  return 1;
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::string pattern = testing::TempDir() + "symbols.XXXXXX";
  path_ = mkdtemp(pattern.data());
}

TemporaryFolder::~TemporaryFolder() { std::filesystem::remove_all(path_); }

void RunShell(const std::string& command) { ASSERT_EQ(system(command.c_str()), 0) << command; }

void Compile(const std::string& output, const std::string& flags, const std::string& compiler) {
  // Each in a folder of its own, where the object and what goes with it may stay.
  const std::string folder = std::filesystem::path(output).parent_path();
  RunShell("cd " + folder + " && " + compiler + " -std=c++20 -shared -fPIC " + flags + " " +
           kSource + " -o " + output);
}

int LineOf(const std::string& mark) {
  std::ifstream source(kSource);
  std::string line;
  for (int number = 1; std::getline(source, line); ++number) {
    if (line.ends_with("// MARK " + mark)) return number;
  }
  ADD_FAILURE() << "no mark " << mark;
  return 0;
}

Place Call(const std::string& library, const std::string& function) {
  Place place;
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    ADD_FAILURE() << dlerror();
    return place;
  }
  void* entry = dlsym(handle, function.c_str());
  auto* leave = static_cast<void (**)()>(dlsym(handle, "subject_leave"));
  auto* pc = static_cast<unsigned long*>(dlsym(handle, "subject_pc"));
  *leave = Leave;
  if (setjmp(return_point) == 0) {
    if (function == "subject_run") {
      reinterpret_cast<int (*)(int)>(entry)(1);
    } else {
      reinterpret_cast<void (*)()>(entry)();
    }
  }
  place.pc = *pc;
  place.function = reinterpret_cast<uint64_t>(entry);
  place.path = library;
  dl_iterate_phdr(FillModule, &place);
  EXPECT_GE(place.pc, place.start);
  EXPECT_LT(place.pc, place.end);
  dlclose(handle);
  return place;
}

std::vector<Frame> FramesOf(const Place& place, const SymbolizerOptions& options) {
  auto symbolizer = Symbolizer::Create(options);
  EXPECT_TRUE(symbolizer.ok()) << symbolizer.status();
  return (*symbolizer)->Symbolize(place.pc, place.module());
}

ModuleReport ReportOf(const Place& place, const SymbolizerOptions& options) {
  auto symbolizer = Symbolizer::Create(options);
  EXPECT_TRUE(symbolizer.ok()) << symbolizer.status();
  (*symbolizer)->Symbolize(place.pc, place.module());
  return (*symbolizer)->Reports().at(0);
}

}  // namespace gputrace::symbols

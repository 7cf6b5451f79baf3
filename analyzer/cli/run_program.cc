// SPDX-License-Identifier: Apache-2.0
// What a program's own file says about why it could not be traced.
#include <elf.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "analyzer/cli/run_traces.h"

namespace gputrace::cli {
namespace {

#if defined(__x86_64__)
constexpr uint16_t kOwnMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t kOwnMachine = EM_AARCH64;
#endif

// The file that execvp would run; empty if there is none.
std::string FindProgram(const std::string& program, const Environment& environment) {
  if (program.find('/') != std::string::npos) return program;
  const std::string path = environment.Get("PATH").value_or("/bin:/usr/bin");
  for (const absl::string_view folder : absl::StrSplit(path, ':')) {
    std::string file = absl::StrCat(folder.empty() ? "." : folder, "/", program);
    if (access(file.c_str(), X_OK) == 0) return file;
  }
  return "";
}

// The interpreter that a script names in its first line; the file itself if it is no script.
std::string InterpreterOf(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  std::string line;
  char magic[2] = {};
  if (!stream.read(magic, 2) || magic[0] != '#' || magic[1] != '!') return file;
  std::getline(stream, line);
  const size_t start = line.find_first_not_of(" \t");
  if (start == std::string::npos) return file;
  return line.substr(start, line.find_first_of(" \t", start) - start);
}

enum class Linkage { kUnknown, kDynamic, kStatic, kOtherMachine };

Linkage LinkageOf(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  Elf64_Ehdr header;
  if (!stream.read(reinterpret_cast<char*>(&header), sizeof(header)) ||
      memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    return Linkage::kUnknown;
  }
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != kOwnMachine) {
    return Linkage::kOtherMachine;
  }
  stream.seekg(static_cast<std::streamoff>(header.e_phoff));
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!stream.read(reinterpret_cast<char*>(&segment), sizeof(segment))) return Linkage::kUnknown;
    if (segment.p_type == PT_INTERP) return Linkage::kDynamic;
  }
  return Linkage::kStatic;
}

bool RunsWithOtherRights(const std::string& file) {
  struct stat info {};
  if (stat(file.c_str(), &info) == 0 && (info.st_mode & (S_ISUID | S_ISGID)) != 0) return true;
  return getxattr(file.c_str(), "security.capability", nullptr, 0) > 0;
}

}  // namespace

std::string WhyNoTrace(const std::string& program, const Environment& environment) {
  if (environment.Get("GPUTRACE_DISABLE") == "1") return "GPUTRACE_DISABLE=1 is set";
  const std::string file = InterpreterOf(FindProgram(program, environment));
  const Linkage linkage = LinkageOf(file);
  if (linkage == Linkage::kStatic) {
    return absl::StrCat(file, " is statically linked: no library can be preloaded into it");
  }
  if (linkage == Linkage::kOtherMachine) {
    return absl::StrCat(file, " is for another kind of machine than the tracer's library");
  }
  if (RunsWithOtherRights(file)) {
    return absl::StrCat(file,
                        " is setuid, setgid or has capabilities: the loader preloads nothing");
  }
  return absl::StrCat(program,
                      " made no CUDA call, or the loader could not preload the tracer (then it has "
                      "said so above)");
}

}  // namespace gputrace::cli

// SPDX-License-Identifier: Apache-2.0
#include "analyzer/symbols/debug_search.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

namespace gputrace::symbols {
namespace {

constexpr char kSystemDebugDir[] = "/usr/lib/debug";

struct Candidate {
  std::string root;
  std::string path;
};

std::string DirectoryOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

std::vector<Candidate> Candidates(const ElfFile& module, const std::string& module_path,
                                  const std::optional<DebugLink>& link, const DebugSearch& search) {
  std::vector<Candidate> candidates;
  std::vector<Candidate> folders;
  folders.reserve(search.debug_dirs.size() + 1);
  for (const std::string& folder : search.debug_dirs) folders.push_back({"", folder});
  folders.push_back({search.sysroot, kSystemDebugDir});
  if (const std::string& id = module.build_id(); id.size() > 2) {
    for (const Candidate& folder : folders) {
      candidates.push_back({folder.root, absl::StrCat(folder.path, "/.build-id/", id.substr(0, 2),
                                                      "/", id.substr(2), ".debug")});
    }
  }
  if (!link) return candidates;
  const std::string beside = DirectoryOf(module_path);
  for (const Candidate& folder : folders) {
    candidates.push_back(
        {folder.root, absl::StrCat(folder.path, "/", beside, "/", link->file_name)});
    candidates.push_back({folder.root, absl::StrCat(folder.path, "/", link->file_name)});
  }
  candidates.push_back({search.sysroot, absl::StrCat(beside, "/", link->file_name)});
  candidates.push_back({search.sysroot, absl::StrCat(beside, "/.debug/", link->file_name)});
  return candidates;
}

bool Belongs(const ElfFile& file, const ElfFile& module, const std::optional<DebugLink>& link) {
  if (!module.build_id().empty()) return file.build_id() == module.build_id();
  return link && file.Crc() == link->crc;
}

}  // namespace

std::unique_ptr<ElfFile> FindDebugFile(const ElfFile& module, const std::string& module_path,
                                       const DebugSearch& search) {
  const std::optional<DebugLink> link = module.debug_link();
  for (const Candidate& candidate : Candidates(module, module_path, link, search)) {
    auto file = ElfFile::Open(candidate.root, candidate.path);
    if (file.ok() && (*file)->HasDebugInfo() && Belongs(**file, module, link)) {
      return *std::move(file);
    }
  }
  return nullptr;
}

}  // namespace gputrace::symbols

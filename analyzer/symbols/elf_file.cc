// SPDX-License-Identifier: Apache-2.0
#include "analyzer/symbols/elf_file.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "trace/crc32.h"

namespace gputrace::symbols {
namespace {

// Opens `path` with `root` as the root directory, so that absolute links inside a foreign root stay
// there.
int OpenUnder(const std::string& root, const std::string& path) {
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
  if (root.empty()) return open(path.c_str(), kFlags);
  const int directory = open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return -1;
  open_how how{};
  how.flags = kFlags;
  how.resolve = RESOLVE_IN_ROOT;
  int fd = static_cast<int>(syscall(SYS_openat2, directory, path.c_str(), &how, sizeof(how)));
  // Before Linux 5.6, and in sandboxes that do not know the call.
  if (fd < 0 && (errno == ENOSYS || errno == EPERM)) {
    fd = open(absl::StrCat(root, "/", path).c_str(), kFlags);
  }
  const int error = errno;
  close(directory);
  errno = error;
  return fd;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ElfFile>> ElfFile::Open(const std::string& root,
                                                       const std::string& path) {
  const std::string shown = root.empty() ? path : absl::StrCat(root, path);
  const int fd = OpenUnder(root, path);
  if (fd < 0) return absl::ErrnoToStatus(errno, shown);
  struct stat info {};
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    close(fd);
    return absl::InvalidArgumentError(absl::StrCat(shown, " is no file"));
  }
  elf_version(EV_CURRENT);
  Elf* elf = elf_begin(fd, ELF_C_READ_MMAP, nullptr);
  GElf_Ehdr header;
  if (elf == nullptr || elf_kind(elf) != ELF_K_ELF || gelf_getehdr(elf, &header) == nullptr) {
    elf_end(elf);
    close(fd);
    return absl::InvalidArgumentError(absl::StrCat(shown, " is no ELF file"));
  }
  return std::unique_ptr<ElfFile>(new ElfFile(fd, elf, shown));
}

ElfFile::ElfFile(int fd, Elf* elf, std::string path) : fd_(fd), elf_(elf), path_(std::move(path)) {
  const void* bytes = nullptr;
  const ssize_t size = dwelf_elf_gnu_build_id(elf_, &bytes);
  if (size > 0) {
    build_id_ =
        absl::BytesToHexString({static_cast<const char*>(bytes), static_cast<size_t>(size)});
  }
}

ElfFile::~ElfFile() {
  elf_end(elf_);
  close(fd_);
}

bool ElfFile::HasSection(const char* name) const {
  size_t names = 0;
  if (elf_getshdrstrndx(elf_, &names) != 0) return false;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf_, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type == SHT_NOBITS) continue;
    const char* found = elf_strptr(elf_, names, header.sh_name);
    if (found != nullptr && strcmp(found, name) == 0) return true;
  }
  return false;
}

bool ElfFile::HasDebugInfo() const {
  return HasSection(".debug_info") || HasSection(".zdebug_info");
}

std::optional<DebugLink> ElfFile::debug_link() const {
  GElf_Word crc = 0;
  const char* name = dwelf_elf_gnu_debuglink(elf_, &crc);
  // A name with a slash would lead elsewhere.
  if (name == nullptr || *name == '\0' || strchr(name, '/') != nullptr) return std::nullopt;
  return DebugLink{name, crc};
}

uint64_t ElfFile::LoadedSize() const {
  size_t count = 0;
  if (elf_getphdrnum(elf_, &count) != 0) return 0;
  uint64_t first = UINT64_MAX;
  uint64_t last = 0;
  for (size_t i = 0; i < count; ++i) {
    GElf_Phdr segment;
    if (gelf_getphdr(elf_, static_cast<int>(i), &segment) == nullptr) return 0;
    if (segment.p_type != PT_LOAD) continue;
    first = std::min(first, segment.p_vaddr);
    last = std::max(last, segment.p_vaddr + segment.p_memsz);
  }
  return last > first ? last - first : 0;
}

uint32_t ElfFile::Crc() const {
  std::vector<char> buffer(1 << 18);
  uint32_t crc = 0;
  off_t offset = 0;
  for (;;) {
    const ssize_t n = pread(fd_, buffer.data(), buffer.size(), offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return 0;
    if (n == 0) return crc;
    crc = trace::Crc32(buffer.data(), static_cast<size_t>(n), crc);
    offset += n;
  }
}

}  // namespace gputrace::symbols

// SPDX-License-Identifier: Apache-2.0
// An ELF file on disk, opened for reading.
#ifndef GPUTRACE_ANALYZER_SYMBOLS_ELF_FILE_H_
#define GPUTRACE_ANALYZER_SYMBOLS_ELF_FILE_H_

#include <libelf.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace gputrace::symbols {

struct DebugLink {
  std::string file_name;
  uint32_t crc = 0;  // of that file's bytes
};

class ElfFile {
 public:
  // Opens `path` as it is under `root` (empty: the machine's own root); symbolic links are followed
  // as if `root` were `/`. Fails with kNotFound, kPermissionDenied, or kInvalidArgument if it is no
  // ELF file.
  static absl::StatusOr<std::unique_ptr<ElfFile>> Open(const std::string& root,
                                                       const std::string& path);
  ~ElfFile();
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  Elf* elf() const { return elf_; }
  const std::string& path() const { return path_; }          // as opened, with the root
  const std::string& build_id() const { return build_id_; }  // lower-case hexadecimal, or empty
  bool HasSection(const char* name) const;
  bool HasDebugInfo() const;
  std::optional<DebugLink> debug_link() const;
  // Bytes of memory from its first loaded address to its last; 0 if it loads none.
  uint64_t LoadedSize() const;
  // CRC-32 of the whole file, as debug links have it; 0 if it cannot be read.
  uint32_t Crc() const;

 private:
  ElfFile(int fd, Elf* elf, std::string path);

  const int fd_;
  Elf* const elf_;
  const std::string path_;
  std::string build_id_;
};

}  // namespace gputrace::symbols

#endif  // GPUTRACE_ANALYZER_SYMBOLS_ELF_FILE_H_

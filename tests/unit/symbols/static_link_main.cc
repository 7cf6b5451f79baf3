// SPDX-License-Identifier: Apache-2.0
// Linked without any shared library, as the command line tool may be; finds its own line.
#include <elf.h>
#include <link.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <string>

#include "analyzer/symbols/elf_file.h"
#include "analyzer/symbols/symbolizer.h"

extern "C" [[gnu::noinline]] uint64_t WhereAmI() {
  return reinterpret_cast<uint64_t>(__builtin_return_address(0));
}

int main() {
  using gputrace::symbols::ElfFile;
  using gputrace::symbols::Symbolizer;
  char path[4096] = {};
  if (readlink("/proc/self/exe", path, sizeof(path) - 1) < 0) return 1;
  const uint64_t pc = WhereAmI();
  constexpr int kLine = __LINE__ - 1;
  auto symbolizer = Symbolizer::Create({});
  auto self = ElfFile::Open("", path);
  if (!symbolizer.ok() || !self.ok()) return 1;
  uint64_t bias = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* out) {
        *static_cast<uint64_t*>(out) = info->dlpi_addr;
        return 1;
      },
      &bias);
  const auto& frames = (*symbolizer)->Symbolize(pc, {1, path, (*self)->build_id(), 0, 0, bias});
  std::printf("%s %s:%d\n", frames[0].function.c_str(), frames[0].file.c_str(), frames[0].line);
  return frames[0].function == "main" && frames[0].line == kLine ? 0 : 1;
}

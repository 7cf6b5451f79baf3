// SPDX-License-Identifier: Apache-2.0
#include "analyzer/symbols/symbol_table.h"

#include <gelf.h>

#include <algorithm>
#include <cstring>

namespace gputrace::symbols {
namespace {

// Whether a symbol names code, and where the section that it is in ends.
bool NamesCode(Elf* elf, const GElf_Sym& symbol, uint64_t* section_end) {
  const unsigned char type = GELF_ST_TYPE(symbol.st_info);
  // Functions written in assembler are often without a type.
  if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) return false;
  GElf_Shdr section;
  if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= SHN_LORESERVE ||
      gelf_getshdr(elf_getscn(elf, symbol.st_shndx), &section) == nullptr ||
      (section.sh_flags & SHF_EXECINSTR) == 0) {
    return false;
  }
  *section_end = section.sh_addr + section.sh_size;
  return symbol.st_value >= section.sh_addr && symbol.st_value < *section_end;
}

// How good a name is; higher is better.
int Rank(const GElf_Sym& symbol, const char* name) {
  const unsigned char bind = GELF_ST_BIND(symbol.st_info);
  const bool typed = GELF_ST_TYPE(symbol.st_info) != STT_NOTYPE;
  const int underscores = static_cast<int>(std::min<size_t>(strspn(name, "_"), 3));
  return (typed ? 100 : 0) +
         (bind == STB_GLOBAL ? 20
          : bind == STB_WEAK ? 10
                             : 0) -
         (strncmp(name, "_Z", 2) == 0 ? 0 : underscores);
}

}  // namespace

SymbolTable::SymbolTable(Elf* elf) {
  Read(elf, SHT_SYMTAB);
  Read(elf, SHT_DYNSYM);
  Index();
}

void SymbolTable::Read(Elf* elf, uint32_t section_type) {
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != section_type) continue;
    Elf_Data* data = elf_getdata(section, nullptr);
    if (data == nullptr || header.sh_entsize == 0) continue;
    const size_t count = data->d_size / header.sh_entsize;
    for (size_t i = 0; i < count; ++i) {
      GElf_Sym symbol;
      if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr) break;
      uint64_t section_end = 0;
      if (!NamesCode(elf, symbol, &section_end)) continue;
      const char* name = elf_strptr(elf, header.sh_link, symbol.st_name);
      // Mapping symbols ($x, .L…) name no function.
      if (name == nullptr || *name == '\0' || *name == '$' || *name == '.') continue;
      Symbol& added = symbols_.emplace_back();
      added.start = symbol.st_value;
      added.sized = symbol.st_size != 0;
      added.end = added.sized ? symbol.st_value + symbol.st_size : section_end;
      added.name = name;
      added.rank = Rank(symbol, name);
    }
  }
}

void SymbolTable::Index() {
  std::sort(symbols_.begin(), symbols_.end(), [](const Symbol& a, const Symbol& b) {
    if (a.start != b.start) return a.start < b.start;
    if (a.rank != b.rank) return a.rank < b.rank;
    return strcmp(a.name, b.name) > 0;
  });
  // A symbol without a size reaches to the next place that has a name.
  uint64_t next = UINT64_MAX;
  for (size_t i = symbols_.size(); i-- > 0;) {
    if (i + 1 < symbols_.size() && symbols_[i + 1].start > symbols_[i].start) {
      next = symbols_[i + 1].start;
    }
    if (!symbols_[i].sized) symbols_[i].end = std::min(symbols_[i].end, next);
  }
  uint64_t last_end = 0;
  for (Symbol& symbol : symbols_) {
    last_end = std::max(last_end, symbol.end);
    symbol.last_end = last_end;
  }
}

std::optional<SymbolTable::Match> SymbolTable::Find(uint64_t address) const {
  auto after = std::upper_bound(symbols_.begin(), symbols_.end(), address,
                                [](uint64_t a, const Symbol& symbol) { return a < symbol.start; });
  while (after != symbols_.begin()) {
    const Symbol& symbol = *--after;
    if (address < symbol.end) return Match{symbol.name, symbol.start};
    if (address >= symbol.last_end) break;
  }
  return std::nullopt;
}

}  // namespace gputrace::symbols

// SPDX-License-Identifier: Apache-2.0
// The functions that an ELF file's symbol table names.
#ifndef GPUTRACE_ANALYZER_SYMBOLS_SYMBOL_TABLE_H_
#define GPUTRACE_ANALYZER_SYMBOLS_SYMBOL_TABLE_H_

#include <libelf.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace gputrace::symbols {

class SymbolTable {
 public:
  struct Match {
    std::string_view name;  // as in the file, mangled
    uint64_t start = 0;     // address of the symbol in the file
  };

  // Reads .symtab, and .dynsym for what that lacks. Names point into `elf`, which must live longer.
  explicit SymbolTable(Elf* elf);

  bool empty() const { return symbols_.empty(); }

  // The function that holds `address` (in the file's own addresses). Of several names for one
  // place, a global one with few underscores wins.
  std::optional<Match> Find(uint64_t address) const;

 private:
  struct Symbol {
    uint64_t start = 0;
    uint64_t end = 0;
    const char* name = nullptr;
    bool sized = false;     // else `end` is a guess
    int rank = 0;           // among names of one place; the highest is the best
    uint64_t last_end = 0;  // the greatest end of this and all before
  };
  void Read(Elf* elf, uint32_t section_type);
  void Index();

  std::vector<Symbol> symbols_;  // by start; of those that start together, the best name last
};

}  // namespace gputrace::symbols

#endif  // GPUTRACE_ANALYZER_SYMBOLS_SYMBOL_TABLE_H_

// SPDX-License-Identifier: Apache-2.0
// Functions, lines and inlined calls out of DWARF debug information.
#ifndef GPUTRACE_ANALYZER_SYMBOLS_DWARF_LOOKUP_H_
#define GPUTRACE_ANALYZER_SYMBOLS_DWARF_LOOKUP_H_

#include <elfutils/libdw.h>
#include <libelf.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/node_hash_map.h"
#include "analyzer/symbols/function_index.h"

namespace gputrace::symbols {

struct SourceFrame {
  std::string function;  // demangled; empty if the debug information names none
  std::string file;
  int line = 0;
  bool inlined = false;
};

// DWARF 2 to 5, also compressed, split (.dwo) and with what `dwz` has moved to another file.
class DwarfLookup {
 public:
  // Null if `elf` has no usable debug information. `elf` must live longer.
  static std::unique_ptr<DwarfLookup> Open(Elf* elf);
  ~DwarfLookup();

  // The frames at `address` (in the file's own addresses), innermost first; the last is not
  // inlined. Empty if the debug information does not cover it. The last may lack a function where
  // only the line is known (assembler).
  std::vector<SourceFrame> Find(uint64_t address);

 private:
  struct Unit {
    Dwarf_Die lines;      // the unit's entry that has the line table
    Dwarf_Die functions;  // the one below which the functions are; another one if split
    FunctionIndex index;
  };
  struct Range {
    uint64_t start = 0;
    uint64_t end = 0;
    Dwarf_Off unit = 0;
  };
  explicit DwarfLookup(Dwarf* dwarf) : dwarf_(dwarf) {}
  Unit* FindUnit(uint64_t address);
  bool FindUnitDie(uint64_t address, Dwarf_Die* die);
  void ListRanges();

  Dwarf* const dwarf_;
  absl::node_hash_map<Dwarf_Off, Unit> units_;
  // Of units that .debug_aranges leaves out; made when first needed.
  std::vector<Range> ranges_;
  bool ranges_listed_ = false;
};

}  // namespace gputrace::symbols

#endif  // GPUTRACE_ANALYZER_SYMBOLS_DWARF_LOOKUP_H_

// SPDX-License-Identifier: Apache-2.0
// Which function of a DWARF compilation unit holds an address.
#ifndef GPUTRACE_ANALYZER_SYMBOLS_FUNCTION_INDEX_H_
#define GPUTRACE_ANALYZER_SYMBOLS_FUNCTION_INDEX_H_

#include <elfutils/libdw.h>

#include <cstdint>
#include <vector>

namespace gputrace::symbols {

class FunctionIndex {
 public:
  FunctionIndex() = default;
  // Visits all functions of the unit once.
  explicit FunctionIndex(Dwarf_Die* unit);

  // The innermost function that has code at `address`; false if there is none.
  bool Find(uint64_t address, Dwarf_Die* function) const;

 private:
  struct Entry {
    uint64_t start = 0;
    uint64_t end = 0;
    uint64_t last_end = 0;  // the greatest end of this and all before
    Dwarf_Die die{};
  };
  void Visit(Dwarf_Die* parent, int depth);

  std::vector<Entry> entries_;  // by start, the longer first
};

// The calls that were inlined into `function` at `address`, outermost first:
// DW_TAG_inlined_subroutine entries, each inside the one before.
std::vector<Dwarf_Die> InlinedCalls(Dwarf_Die* function, uint64_t address);

}  // namespace gputrace::symbols

#endif  // GPUTRACE_ANALYZER_SYMBOLS_FUNCTION_INDEX_H_

// SPDX-License-Identifier: Apache-2.0
// All that can be known of one module: its file, its separate debug information, its symbol table.
#ifndef GPUTRACE_ANALYZER_SYMBOLS_MODULE_SYMBOLS_H_
#define GPUTRACE_ANALYZER_SYMBOLS_MODULE_SYMBOLS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/symbols/debug_search.h"
#include "analyzer/symbols/dwarf_lookup.h"
#include "analyzer/symbols/elf_file.h"
#include "analyzer/symbols/symbol_table.h"
#include "analyzer/symbols/symbolizer.h"

namespace gputrace::symbols {

class ModuleSymbols {
 public:
  // Never fails: state() and reason() say what was found.
  ModuleSymbols(const ModuleRef& ref, const DebugSearch& search);

  ModuleState state() const { return state_; }
  const std::string& reason() const { return reason_; }
  std::string debug_file() const { return debug_file_ == nullptr ? "" : debug_file_->path(); }

  // The frames at `address` (in the file's own addresses), innermost first; empty if nothing names
  // it. `shown` is the address that an offset behind a symbol's name is counted to.
  std::vector<Frame> Find(uint64_t address, uint64_t shown);

 private:
  void Load(const ModuleRef& ref, const DebugSearch& search);
  void Fail(ModuleState state, std::string reason);
  bool IsTheTracedFile(const ModuleRef& ref);
  std::string NearestSymbol(uint64_t address, uint64_t shown) const;

  ModuleState state_ = ModuleState::kNoSymbols;
  std::string reason_;
  std::unique_ptr<ElfFile> file_;
  std::unique_ptr<ElfFile> debug_file_;  // null if the module has its own
  std::unique_ptr<DwarfLookup> dwarf_;
  std::optional<SymbolTable> symbols_;
  std::optional<SymbolTable> debug_symbols_;
};

}  // namespace gputrace::symbols

#endif  // GPUTRACE_ANALYZER_SYMBOLS_MODULE_SYMBOLS_H_

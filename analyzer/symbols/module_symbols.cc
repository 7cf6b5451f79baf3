// SPDX-License-Identifier: Apache-2.0
#include "analyzer/symbols/module_symbols.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analyzer/symbols/demangle.h"

namespace gputrace::symbols {
namespace {

constexpr uint64_t kPage = 4096;

uint64_t RoundUpToPage(uint64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

// The kernel's own, and what was never in a file.
bool HasFile(const std::string& path) {
  return path.starts_with('/') && !path.starts_with("/memfd:") && !path.starts_with("/dev/zero");
}

}  // namespace

ModuleSymbols::ModuleSymbols(const ModuleRef& ref, const DebugSearch& search) { Load(ref, search); }

void ModuleSymbols::Load(const ModuleRef& ref, const DebugSearch& search) {
  const std::string path(ref.path);
  if (!HasFile(path)) return Fail(ModuleState::kNoFile, "");
  auto file = ElfFile::Open(search.sysroot, path);
  if (!file.ok()) {
    const bool missing = absl::IsNotFound(file.status());
    return Fail(missing ? ModuleState::kMissing : ModuleState::kUnreadable,
                missing ? absl::StrCat("there is no ", search.sysroot, path)
                        : std::string(file.status().message()));
  }
  file_ = *std::move(file);
  if (!IsTheTracedFile(ref)) return;
  if (!file_->HasDebugInfo()) debug_file_ = FindDebugFile(*file_, path, search);
  const ElfFile& debug = debug_file_ == nullptr ? *file_ : *debug_file_;
  symbols_.emplace(file_->elf());
  if (debug_file_ != nullptr) debug_symbols_.emplace(debug.elf());
  if (debug.HasDebugInfo()) dwarf_ = DwarfLookup::Open(debug.elf());
  if (dwarf_ != nullptr) {
    state_ = ModuleState::kDebugInfo;
  } else if (!symbols_->empty()) {
    state_ = ModuleState::kSymbolTable;
    reason_ = "it has no debug information";
  } else {
    reason_ = "it has neither debug information nor a symbol table";
  }
  if (debug.HasDebugInfo() && dwarf_ == nullptr) reason_ = "its debug information is damaged";
}

void ModuleSymbols::Fail(ModuleState state, std::string reason) {
  state_ = state;
  reason_ = std::move(reason);
}

bool ModuleSymbols::IsTheTracedFile(const ModuleRef& ref) {
  const std::string wanted(ref.build_id);
  if (file_->build_id() != wanted) {
    const auto shown = [](const std::string& id) { return id.empty() ? "none" : id; };
    // A file that is cut short has lost its build-id with its end.
    if (file_->build_id().empty() && file_->LoadedSize() == 0) {
      Fail(ModuleState::kUnreadable, absl::StrCat(file_->path(), " is damaged"));
    } else {
      Fail(ModuleState::kMismatch,
           absl::StrFormat("%s is another file than was traced: its build-id is %s, not %s",
                           file_->path(), shown(file_->build_id()), shown(wanted)));
    }
    return false;
  }
  // Without a build-id, the size in memory is what is left to compare.
  const uint64_t size = file_->LoadedSize();
  if (wanted.empty() && RoundUpToPage(size) != RoundUpToPage(ref.end - ref.start)) {
    Fail(ModuleState::kMismatch,
         absl::StrCat(file_->path(),
                      " is another file than was traced: its size in memory differs"));
    return false;
  }
  return true;
}

std::string ModuleSymbols::NearestSymbol(uint64_t address, uint64_t shown) const {
  std::optional<SymbolTable::Match> match;
  if (debug_symbols_) match = debug_symbols_->Find(address);
  if (!match && symbols_) match = symbols_->Find(address);
  if (!match) return "";
  return absl::StrFormat("%s+0x%x", Demangle(match->name), shown - match->start);
}

std::vector<Frame> ModuleSymbols::Find(uint64_t address, uint64_t shown) {
  std::vector<Frame> frames;
  if (dwarf_ != nullptr) {
    for (SourceFrame& source : dwarf_->Find(address)) {
      Frame& frame = frames.emplace_back();
      frame.function = std::move(source.function);
      frame.file = std::move(source.file);
      frame.line = source.line;
      frame.inlined = source.inlined;
    }
  }
  if (frames.empty()) {
    const std::string symbol = NearestSymbol(address, shown);
    if (symbol.empty()) return frames;
    frames.emplace_back().function = symbol;
  } else if (frames.back().function.empty()) {
    frames.back().function = NearestSymbol(address, shown);
  }
  return frames;
}

}  // namespace gputrace::symbols

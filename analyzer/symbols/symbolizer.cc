// SPDX-License-Identifier: Apache-2.0
#include "analyzer/symbols/symbolizer.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analyzer/symbols/module_symbols.h"

namespace gputrace::symbols {
namespace {

absl::Status CheckFolder(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return absl::ErrnoToStatus(errno, path);
  if (!S_ISDIR(info.st_mode))
    return absl::InvalidArgumentError(absl::StrCat(path, " is no folder"));
  return absl::OkStatus();
}

std::string BaseName(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

std::string KeyOf(const ModuleRef& ref) {
  std::string key(ref.path);
  key += '\0';
  key += ref.build_id;
  return key;
}

// Modules without names first: they are what the user can do something about.
int Urgency(ModuleState state) {
  switch (state) {
    case ModuleState::kMismatch:
      return 0;
    case ModuleState::kUnreadable:
      return 1;
    case ModuleState::kMissing:
      return 2;
    case ModuleState::kNoSymbols:
      return 3;
    case ModuleState::kSymbolTable:
      return 4;
    case ModuleState::kNoFile:
    case ModuleState::kDisabled:
    case ModuleState::kDebugInfo:
      break;
  }
  return 5;
}

}  // namespace

struct Symbolizer::Module {
  std::string path;
  std::string build_id;
  std::optional<ModuleSymbols> symbols;  // empty if disabled
  absl::node_hash_map<std::pair<uint64_t, AddressKind>, std::vector<Frame>>
      frames;  // by address in the file
};

Symbolizer::Symbolizer(SymbolizerOptions options) : options_(std::move(options)) {}
Symbolizer::~Symbolizer() = default;

absl::StatusOr<std::unique_ptr<Symbolizer>> Symbolizer::Create(SymbolizerOptions options) {
  while (options.sysroot.ends_with('/')) options.sysroot.pop_back();
  if (!options.sysroot.empty()) {
    if (absl::Status status = CheckFolder(options.sysroot); !status.ok()) return status;
  }
  for (const std::string& folder : options.debug_dirs) {
    if (absl::Status status = CheckFolder(folder); !status.ok()) return status;
  }
  return std::unique_ptr<Symbolizer>(new Symbolizer(std::move(options)));
}

Symbolizer::Module* Symbolizer::FindModule(const ModuleRef& ref) {
  std::unique_ptr<Module>& module = modules_[KeyOf(ref)];
  if (module == nullptr) {
    module = std::make_unique<Module>();
    module->path = ref.path;
    module->build_id = ref.build_id;
    if (options_.enabled) {
      module->symbols.emplace(ref, DebugSearch{options_.sysroot, options_.debug_dirs});
    }
  }
  return module.get();
}

const std::vector<Frame>& Symbolizer::Symbolize(uint64_t pc, const ModuleRef& ref,
                                                AddressKind kind) {
  Module* module = FindModule(ref);
  const bool is_return = kind == AddressKind::kReturn;
  const uint64_t address = pc - ref.bias;
  const auto [at, added] = module->frames.try_emplace({address, kind});
  std::vector<Frame>& frames = at->second;
  if (!added) return frames;
  if (module->symbols) frames = module->symbols->Find(address - (is_return ? 1 : 0), address);
  if (frames.empty()) frames.emplace_back();
  for (Frame& frame : frames) {
    frame.module = module->path;
    if (frame.function.empty()) {
      frame.function = absl::StrFormat("%s+0x%x", BaseName(module->path), address);
    }
  }
  return frames;
}

const std::vector<Frame>& Symbolizer::SymbolizeUnknown(uint64_t pc) {
  std::vector<Frame>& frames = unknown_[pc];
  if (frames.empty()) frames.emplace_back().function = absl::StrFormat("0x%x", pc);
  return frames;
}

std::vector<ModuleReport> Symbolizer::Reports() const {
  std::vector<ModuleReport> reports;
  for (const auto& [key, module] : modules_) {
    ModuleReport& report = reports.emplace_back();
    report.path = module->path;
    report.build_id = module->build_id;
    report.addresses = module->frames.size();
    report.state = ModuleState::kDisabled;
    if (!module->symbols) continue;
    report.state = module->symbols->state();
    report.reason = module->symbols->reason();
    report.debug_file = module->symbols->debug_file();
  }
  std::sort(reports.begin(), reports.end(), [](const ModuleReport& a, const ModuleReport& b) {
    const int left = Urgency(a.state);
    const int right = Urgency(b.state);
    if (left != right) return left < right;
    return a.path != b.path ? a.path < b.path : a.build_id < b.build_id;
  });
  return reports;
}

}  // namespace gputrace::symbols

// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/stacks.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "analyzer/analyses/owners.h"
#include "analyzer/report/terminal.h"

namespace gputrace::report {
namespace {

using analyses::FileName;

// FNV-1a, 64 bits: simple enough to be computed anywhere.
class Hash {
 public:
  void Add(std::string_view text) {
    for (char c : text) AddByte(static_cast<uint8_t>(c));
    AddByte(0);
  }
  void Add(uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8) AddByte(static_cast<uint8_t>(value >> shift));
  }
  uint64_t value() const { return value_; }

 private:
  void AddByte(uint8_t byte) { value_ = (value_ ^ byte) * 0x100000001b3; }

  uint64_t value_ = 0xcbf29ce484222325;
};

// The function's name without the offset that follows a symbol which is only the nearest one; empty
// if there is no name at all.
std::string_view NameOf(const symbols::Frame& frame) {
  std::string_view name = frame.function;
  const size_t plus = name.rfind("+0x");
  if (plus != std::string_view::npos) name = name.substr(0, plus);
  if (name == FileName(frame.module) || name.substr(0, 2) == "0x") return {};
  return name;
}

std::string_view IdentityOf(const trace::Module& module) {
  return module.build_id.empty() ? std::string_view(module.path) : module.build_id;
}

}  // namespace

std::string FrameText(const symbols::Frame& frame) {
  std::string text = EscapeForTerminal(frame.function);
  if (!frame.file.empty()) {
    absl::StrAppend(&text, " at ", EscapeForTerminal(frame.file));
    if (frame.line > 0) absl::StrAppend(&text, ":", frame.line);
  }
  const std::string module(FileName(frame.module));
  const bool names_it = absl::StartsWith(frame.function, module + "+0x");
  if (!module.empty() && !names_it) absl::StrAppend(&text, " (", EscapeForTerminal(module), ")");
  return text;
}

std::vector<StackReader::Place> StackReader::Places(uint32_t process, uint32_t native_stack) const {
  const trace::Dictionary& dictionary = job_->processes()[process].reader->dictionary();
  const trace::Stack stack = dictionary.stack(native_stack);
  std::vector<Place> places;
  for (uint64_t pc : stack.pcs) {
    // The address that a call returns to may be the first of the next module.
    const trace::Module* module = dictionary.FindModule(pc - 1, stack.epoch);
    if (module != nullptr && FileName(module->path).substr(0, 11) == "libgputrace") continue;
    places.push_back({module, pc});
  }
  return places;
}

const std::vector<symbols::Frame>& StackReader::FramesAt(const Place& place) const {
  if (place.module == nullptr) return symbolizer_->SymbolizeUnknown(place.pc);
  symbols::ModuleRef module;
  module.id = place.module->id;
  module.path = place.module->path;
  module.build_id = place.module->build_id;
  module.start = place.module->start;
  module.end = place.module->end;
  module.bias = place.module->bias;
  return symbolizer_->Symbolize(place.pc, module);
}

std::vector<const symbols::Frame*> StackReader::Frames(uint32_t process,
                                                       uint32_t native_stack) const {
  std::vector<const symbols::Frame*> frames;
  for (const Place& place : Places(process, native_stack)) {
    for (const symbols::Frame& frame : FramesAt(place)) frames.push_back(&frame);
  }
  return frames;
}

std::vector<const symbols::Frame*> StackReader::Frames(uint32_t site) const {
  const ledger::Site& where = (*sites_)[site];
  return Frames(where.process, where.native_stack);
}

std::string StackReader::Fingerprint(uint32_t site) const {
  const ledger::Site& where = (*sites_)[site];
  Hash hash;
  for (const Place& place : Places(where.process, where.native_stack)) {
    for (const symbols::Frame& frame : FramesAt(place)) {
      const std::string_view name = NameOf(frame);
      if (!name.empty()) {
        hash.Add(FileName(frame.module));
        hash.Add(name);
      } else if (place.module != nullptr) {
        hash.Add(IdentityOf(*place.module));
        hash.Add(place.pc - place.module->bias);
      } else {
        hash.Add("?");  // addresses of no module differ from run to run
      }
    }
  }
  return absl::StrFormat("v1:%016x", hash.value());
}

uint64_t StackReader::SourceIdentity(uint32_t site) const {
  const ledger::Site& where = (*sites_)[site];
  Hash hash;
  for (const Place& place : Places(where.process, where.native_stack)) {
    if (place.module != nullptr) hash.Add(IdentityOf(*place.module));
    for (const symbols::Frame& frame : FramesAt(place)) {
      if (frame.line > 0 && !NameOf(frame).empty()) {
        hash.Add(NameOf(frame));
        hash.Add(frame.file);
        hash.Add(static_cast<uint64_t>(frame.line));
      } else {
        hash.Add(place.module != nullptr ? place.pc - place.module->bias : place.pc);
      }
    }
  }
  return hash.value();
}

uint64_t StackReader::Identity(uint32_t site) const {
  const ledger::Site& where = (*sites_)[site];
  Hash hash;
  for (const Place& place : Places(where.process, where.native_stack)) {
    if (place.module != nullptr) hash.Add(IdentityOf(*place.module));
    hash.Add(place.module != nullptr ? place.pc - place.module->bias : place.pc);
  }
  return hash.value();
}

}  // namespace gputrace::report

// SPDX-License-Identifier: Apache-2.0
// Addresses in a traced process -> functions, files and lines, long after the process is gone.
#ifndef GPUTRACE_ANALYZER_SYMBOLS_SYMBOLIZER_H_
#define GPUTRACE_ANALYZER_SYMBOLS_SYMBOLIZER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_map.h"
#include "absl/status/statusor.h"

namespace gputrace::symbols {

class ModuleSymbols;

struct Frame {
  // Demangled. Where the function is not known: `name+0x1f` (nearest symbol), else
  // `libfoo.so+0x1234` (address in the file), else `0x7f…`.
  std::string function;
  std::string file;      // empty if not known
  int line = 0;          // 0 if not known
  std::string module;    // path in the traced process; empty if the address is in none
  bool inlined = false;  // into the next frame
  bool python = false;
};

// A module as the trace knows it.
struct ModuleRef {
  uint32_t id = 0;
  std::string_view path;
  std::string_view build_id;  // lower-case hexadecimal; empty: it had none
  uint64_t start = 0;         // [start, end) in the process
  uint64_t end = 0;
  uint64_t bias = 0;  // address in the process minus address in the file
};

struct SymbolizerOptions {
  // A folder under which the traced machine's files are, as `/` was there; empty: this machine's
  // own.
  std::string sysroot;
  // Folders of separate debug information, searched before <sysroot>/usr/lib/debug: by build-id
  // (`.build-id/ab/cd….debug`) and by the names of .gnu_debuglink.
  std::vector<std::string> debug_dirs;
  // False: no file is opened; every frame is `module+0xoffset`.
  bool enabled = true;
};

enum class ModuleState {
  kDebugInfo,    // functions, files, lines, inlined frames
  kSymbolTable,  // the nearest symbol
  kNoSymbols,    // the file is the right one but names nothing
  kNoFile,       // of the kernel (vdso) or the process itself: there never was a file
  kMissing,      // no such file here
  kMismatch,     // a file is there, but it is not the one that was traced: not used
  kUnreadable,   // no ELF file, or a damaged one
  kDisabled,     // by SymbolizerOptions::enabled
};

struct ModuleReport {
  std::string path;
  std::string build_id;
  ModuleState state = ModuleState::kMissing;
  std::string reason;      // one sentence for people; empty where all is well
  std::string debug_file;  // where the debug information was found, if not in the module itself
  uint64_t addresses = 0;  // different ones that were asked for
};

// Whether an address is where a call returns to, as all in a stack are, or the very instruction
// meant.
enum class AddressKind { kReturn, kExact };

// Opens modules when first needed and remembers every answer. Never uses the network. Memory: the
// debug information of opened modules is mapped, not read; an index per compilation unit asked
// about. Not thread-safe.
class Symbolizer {
 public:
  // Fails (kNotFound, kInvalidArgument) if a folder of `options` does not exist or is none.
  static absl::StatusOr<std::unique_ptr<Symbolizer>> Create(SymbolizerOptions options);
  ~Symbolizer();

  // The frames at `pc`, innermost first: the inlined functions, then the one that they are inlined
  // into. At least one. A return address is looked up at the instruction before, which is that of
  // the call. The reference is good for as long as the symbolizer. Modules of several processes may
  // be mixed: those of the same path and build-id are one.
  const std::vector<Frame>& Symbolize(uint64_t pc, const ModuleRef& module,
                                      AddressKind kind = AddressKind::kReturn);

  // An address in no known module: a single frame, `0x7f…`.
  const std::vector<Frame>& SymbolizeUnknown(uint64_t pc);

  // What came of each module asked about so far, those without names first, then by path.
  std::vector<ModuleReport> Reports() const;

 private:
  struct Module;
  explicit Symbolizer(SymbolizerOptions options);
  Module* FindModule(const ModuleRef& ref);

  const SymbolizerOptions options_;
  absl::flat_hash_map<std::string, std::unique_ptr<Module>> modules_;  // by path and build-id
  absl::node_hash_map<uint64_t, std::vector<Frame>> unknown_;
};

}  // namespace gputrace::symbols

#endif  // GPUTRACE_ANALYZER_SYMBOLS_SYMBOLIZER_H_

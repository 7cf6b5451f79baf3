// SPDX-License-Identifier: Apache-2.0
// The definitions of a trace: what the small integers in its records stand for.
#ifndef GPUTRACE_TRACE_DICTIONARY_H_
#define GPUTRACE_TRACE_DICTIONARY_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/descriptor.h"
#include "trace/format.h"

namespace gputrace::trace {

struct Stack {
  uint64_t hash = 0;
  uint32_t epoch = 0;  // module epoch at which the addresses are to be looked up
  bool truncated = false;
  std::span<const uint64_t> pcs;  // innermost first; return addresses
};

struct PythonFrame {
  uint32_t code_object = 0;
  int32_t instruction = -1;  // byte offset into the code object's instructions; -1 if unknown
};
struct PythonStack {
  uint64_t hash = 0;
  bool truncated = false;
  std::vector<PythonFrame> frames;  // innermost first
};

struct CodeObject {
  uint32_t id = 0;
  uint64_t hash = 0;
  std::string qualified_name;
  std::string file;
  uint32_t first_line = 0;
  uint16_t python_version = 0;  // 0x030b for 3.11: tells how to read the line table
  std::string line_table;
};

struct Module {
  uint32_t id = 0;
  std::string path;
  std::string build_id;  // lower-case hexadecimal; empty if the module has none
  uint64_t start = 0;    // mapped addresses [start, end)
  uint64_t end = 0;
  uint64_t bias = 0;  // address in the process minus address in the file's program headers
  uint32_t load_epoch = 0;
  uint32_t unload_epoch = 0;  // 0: still loaded at the end
};

struct Thread {
  uint32_t id = 0;
  uint32_t tid = 0;
  std::string name;
};

struct Context {
  uint32_t id = 0;
  uint64_t handle = 0;
  int32_t device = -1;  // index of the device in this trace; -1 if unknown
};

struct Device {
  int32_t ordinal = -1;
  std::string name;
  std::string uuid;  // "GPU-xxxxxxxx-…"; empty if unknown
  uint64_t total_bytes = 0;
};

struct Allocator {
  uint32_t id = 0;
  std::string framework;
  std::string name;
  int32_t device = -1;
};

struct End {
  EndReason reason = EndReason::kExit;
  int64_t time_ns = 0;
};

// Immutable once its Reader is open; may be read by many threads. Look-ups of an id that the trace
// does not define (damage) return an empty default, never fail.
class Dictionary {
 public:
  std::string_view string(uint32_t id) const;
  Stack stack(uint32_t id) const;
  const PythonStack& python_stack(uint32_t id) const;
  const CodeObject& code_object(uint32_t id) const;
  const Thread& thread(uint32_t id) const;
  const Context& context(uint32_t id) const;
  const Allocator& allocator(uint32_t id) const;
  const EntryDescriptor* entry(uint16_t id) const;  // null if unknown

  // The module that held `pc` at `epoch`, or null.
  const Module* FindModule(uint64_t pc, uint32_t epoch) const;

  const std::vector<Module>& modules() const { return modules_; }
  const std::vector<Device>& devices() const { return devices_; }
  const std::vector<Context>& contexts() const { return contexts_; }
  const std::vector<Thread>& threads() const { return threads_; }
  const std::vector<EntryDescriptor>& entries() const { return entries_; }
  const std::map<std::string, std::string>& facts() const { return facts_; }
  const std::vector<std::string>& troubles() const { return troubles_; }
  const std::optional<End>& end() const { return end_; }
  std::string_view fact(const std::string& key) const;
  uint32_t stack_count() const { return static_cast<uint32_t>(stacks_.size()); }
  uint32_t string_count() const { return static_cast<uint32_t>(strings_.size()); }
  uint32_t code_object_count() const { return static_cast<uint32_t>(code_objects_.size()); }
  uint32_t python_stack_count() const { return static_cast<uint32_t>(python_stacks_.size()); }

 private:
  friend class DictionaryBuilder;
  struct StoredStack {
    uint64_t hash = 0;
    uint64_t first = 0;  // into frames_
    uint32_t depth = 0;
    uint32_t epoch = 0;
    bool truncated = false;
  };

  // Vectors are indexed by id - 1 where ids are dense, and hold defaults where a definition is
  // lost.
  std::vector<std::string> strings_;
  std::vector<StoredStack> stacks_;
  std::vector<uint64_t> frames_;
  std::vector<PythonStack> python_stacks_;
  std::vector<CodeObject> code_objects_;
  std::vector<Module> modules_;
  std::vector<Thread> threads_;
  std::vector<Context> contexts_;
  std::vector<Device> devices_;
  std::vector<Allocator> allocators_;
  std::vector<EntryDescriptor> entries_;
  std::vector<uint16_t> entry_positions_;  // id -> position in entries_ + 1
  std::map<std::string, std::string> facts_;
  std::vector<std::string> troubles_;
  std::optional<End> end_;
};

}  // namespace gputrace::trace

#endif  // GPUTRACE_TRACE_DICTIONARY_H_

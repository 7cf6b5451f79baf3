// SPDX-License-Identifier: Apache-2.0
// Collects definitions for a dictionary block. Allocation-free: for the traced process.
#ifndef GPUTRACE_TRACE_DICTIONARY_ENCODER_H_
#define GPUTRACE_TRACE_DICTIONARY_ENCODER_H_

#include <cstddef>
#include <cstdint>

#include "trace/format.h"

namespace gputrace::trace {

struct Bytes {
  const void* data = nullptr;
  size_t size = 0;
};

// Plain mirrors of the structs in dictionary.h and descriptor.h, without ownership.
struct EntryView {
  struct Effect {
    Verb verb;
    uint64_t kinds;
  };
  struct Operand {
    Bytes name;
    Role role;
    bool out;
    Predictor predictor;
  };
  uint16_t id;
  Bytes symbol;
  EntryClass entry_class;
  bool intent;
  ContextSource context_source;
  CaptureRule capture;
  const Effect* effects;
  uint32_t effect_count;
  const Operand* operands;
  uint32_t operand_count;
};
struct StackView {
  uint32_t id;
  uint64_t hash;
  uint32_t epoch;
  bool truncated;
  const uint64_t* pcs;  // innermost first
  uint32_t depth;
};
struct PythonStackView {
  uint32_t id;
  uint64_t hash;
  bool truncated;
  const uint64_t* frames;  // pairs: code object id, instruction + 1
  uint32_t depth;
};
struct ModuleView {
  uint32_t id;
  Bytes path;
  Bytes build_id;  // raw bytes
  uint64_t start;
  uint64_t end;
  uint64_t bias;
  uint32_t load_epoch;
};
struct CodeObjectView {
  uint32_t id;
  uint64_t hash;
  Bytes qualified_name;
  Bytes file;
  uint32_t first_line;
  uint16_t python_version;
  Bytes line_table;
};

// Each Add returns false, and adds nothing, if the buffer is full: emit the block, Clear, add
// again. Not thread-safe.
class DictionaryEncoder {
 public:
  void Start(uint8_t* buffer, size_t capacity);
  void Clear();
  const uint8_t* data() const { return buffer_; }
  size_t size() const { return used_; }
  uint32_t records() const { return records_; }

  bool AddString(uint32_t id, Bytes text);
  bool AddEntry(const EntryView& entry);
  bool AddStack(const StackView& stack);
  bool AddPythonStack(const PythonStackView& stack);
  bool AddModule(const ModuleView& module);
  bool AddModuleUnload(uint32_t module, uint32_t epoch);
  bool AddCodeObject(const CodeObjectView& code);
  bool AddThread(uint32_t id, uint32_t tid, Bytes name);
  bool AddContext(uint32_t id, uint64_t handle, int32_t device);
  bool AddDevice(int32_t ordinal, Bytes name, const uint8_t uuid[16], uint64_t total_bytes);
  bool AddAllocator(uint32_t id, Bytes framework, Bytes name, int32_t device);
  bool AddFact(Bytes key, Bytes value);
  bool AddTrouble(Bytes text);
  bool AddEnd(EndReason reason, uint64_t time);

 private:
  class Body;
  bool Commit(DictionaryType type, const Body& body);

  uint8_t* buffer_ = nullptr;
  size_t capacity_ = 0;
  size_t used_ = 0;
  uint32_t records_ = 0;
  // The last stack of this block, outermost first: the next one shares its outer frames.
  uint64_t previous_[kMaxStackDepth];
  uint32_t previous_depth_ = 0;
};

}  // namespace gputrace::trace

#endif  // GPUTRACE_TRACE_DICTIONARY_ENCODER_H_

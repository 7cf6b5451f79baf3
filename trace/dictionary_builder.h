// SPDX-License-Identifier: Apache-2.0
// Fills a Dictionary from dictionary blocks and from definitions found in rings.
#ifndef GPUTRACE_TRACE_DICTIONARY_BUILDER_H_
#define GPUTRACE_TRACE_DICTIONARY_BUILDER_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "trace/column_model.h"
#include "trace/dictionary.h"

namespace gputrace::trace {

class DictionaryBuilder {
 public:
  explicit DictionaryBuilder(Dictionary* dictionary) : dictionary_(*dictionary) {}

  // Reads one dictionary block's payload. On kDataLoss, what came before the damage is kept.
  absl::Status AddPayload(std::span<const uint8_t> payload);

  // The following return the new definition's id.
  uint32_t AddStack(uint64_t hash, uint32_t epoch, bool truncated, std::span<const uint64_t> pcs);
  uint32_t AddPythonStack(PythonStack stack);
  uint32_t AddCodeObject(CodeObject code);
  uint32_t AddString(std::string_view text);
  void AddContext(const Context& context);
  // These define nothing that the trace has already.
  void AddThread(const Thread& thread);
  void AddModule(Module module);
  void AddDevice(int32_t ordinal, std::string_view name, std::string_view uuid,
                 uint64_t total_bytes);
  void AddFact(std::string_view key, std::string_view value);

  // The end record's time in units of the file, and what that is in nanoseconds; for a dictionary
  // whose end() is set.
  uint64_t end_time_units() const { return end_time_units_; }
  void SetEndTime(int64_t time_ns) { dictionary_.end_->time_ns = time_ns; }

 private:
  class Cursor;
  bool AddRecord(DictionaryType type, Cursor& in);
  bool ReadString(Cursor& in);
  bool ReadEntry(Cursor& in);
  bool ReadStack(Cursor& in);
  bool ReadPythonStack(Cursor& in);
  bool ReadModule(Cursor& in);
  bool ReadModuleUnload(Cursor& in);
  bool ReadCodeObject(Cursor& in);
  bool ReadThread(Cursor& in);
  bool ReadContext(Cursor& in);
  bool ReadDevice(Cursor& in);
  bool ReadAllocator(Cursor& in);
  bool ReadFact(Cursor& in);
  bool ReadEnd(Cursor& in);

  Dictionary& dictionary_;
  std::vector<uint64_t> previous_;  // the last stack of the payload being read, outermost first
  uint64_t end_time_units_ = 0;
};

// The encoder's view of the entries, indexed by entry id.
std::vector<EntryHints> MakeHints(const Dictionary& dictionary);

}  // namespace gputrace::trace

#endif  // GPUTRACE_TRACE_DICTIONARY_BUILDER_H_

// SPDX-License-Identifier: Apache-2.0
#include "trace/dictionary_encoder.h"

#include <cstring>

#include "trace/varint.h"

namespace gputrace::trace {

// Writes a record's body where it will stay, with room left in front for its type and length; the
// body is moved to close the gap when it is committed.
class DictionaryEncoder::Body {
 public:
  static constexpr size_t kPrefix = 2 * kMaxVarintBytes;

  explicit Body(const DictionaryEncoder& encoder)
      : start_(encoder.buffer_ + encoder.used_ + kPrefix),
        at_(start_),
        end_(encoder.buffer_ + encoder.capacity_),
        fits_(encoder.used_ + kPrefix <= encoder.capacity_) {}

  Body& Varint(uint64_t value) {
    if (Need(kMaxVarintBytes)) at_ = PutVarint(at_, value);
    return *this;
  }
  Body& Signed(int64_t value) { return Varint(ZigZag(value)); }
  Body& Fixed64(uint64_t value) { return Raw({&value, sizeof(value)}); }
  Body& Raw(Bytes bytes) {
    if (Need(bytes.size) && bytes.size > 0) {
      memcpy(at_, bytes.data, bytes.size);
      at_ += bytes.size;
    }
    return *this;
  }
  Body& Text(Bytes bytes) {
    if (bytes.size > kMaxStringBytes) bytes.size = kMaxStringBytes;
    return Varint(bytes.size).Raw(bytes);
  }

  bool fits() const { return fits_; }
  const uint8_t* data() const { return start_; }
  size_t size() const { return static_cast<size_t>(at_ - start_); }

 private:
  bool Need(size_t bytes) {
    if (!fits_ || bytes > static_cast<size_t>(end_ - at_)) fits_ = false;
    return fits_;
  }

  uint8_t* start_;
  uint8_t* at_;
  uint8_t* end_;
  bool fits_;
};

void DictionaryEncoder::Start(uint8_t* buffer, size_t capacity) {
  buffer_ = buffer;
  capacity_ = capacity;
  Clear();
}

void DictionaryEncoder::Clear() {
  used_ = 0;
  records_ = 0;
  previous_depth_ = 0;
}

bool DictionaryEncoder::Commit(DictionaryType type, const Body& body) {
  if (!body.fits()) return false;
  const size_t size = body.size();
  uint8_t* at = PutVarint(buffer_ + used_, static_cast<uint64_t>(type));
  at = PutVarint(at, size);
  memmove(at, body.data(), size);
  used_ = static_cast<size_t>(at + size - buffer_);
  ++records_;
  return true;
}

bool DictionaryEncoder::AddString(uint32_t id, Bytes text) {
  Body body(*this);
  body.Varint(id).Text(text);
  return Commit(DictionaryType::kString, body);
}

bool DictionaryEncoder::AddEntry(const EntryView& entry) {
  Body body(*this);
  body.Varint(entry.id).Text(entry.symbol);
  body.Varint(static_cast<uint64_t>(entry.entry_class)).Varint(entry.intent ? 1 : 0);
  body.Varint(static_cast<uint64_t>(entry.context_source));
  body.Varint(static_cast<uint64_t>(entry.capture));
  body.Varint(entry.effect_count);
  for (uint32_t i = 0; i < entry.effect_count; ++i) {
    body.Varint(static_cast<uint64_t>(entry.effects[i].verb)).Varint(entry.effects[i].kinds);
  }
  body.Varint(entry.operand_count);
  for (uint32_t i = 0; i < entry.operand_count; ++i) {
    const EntryView::Operand& operand = entry.operands[i];
    body.Text(operand.name).Varint(static_cast<uint64_t>(operand.role));
    body.Varint(operand.out ? 1 : 0).Varint(static_cast<uint64_t>(operand.predictor));
  }
  return Commit(DictionaryType::kEntry, body);
}

bool DictionaryEncoder::AddStack(const StackView& stack) {
  const uint32_t depth = stack.depth < kMaxStackDepth ? stack.depth : kMaxStackDepth;
  uint32_t shared = 0;
  while (shared < depth && shared < previous_depth_ &&
         previous_[shared] == stack.pcs[depth - 1 - shared]) {
    ++shared;
  }
  Body body(*this);
  body.Varint(stack.id).Fixed64(stack.hash).Varint(stack.epoch).Varint(stack.truncated ? 1 : 0);
  body.Varint(depth).Varint(shared);
  uint64_t before = shared > 0 ? previous_[shared - 1] : 0;
  for (uint32_t i = shared; i < depth; ++i) {
    const uint64_t pc = stack.pcs[depth - 1 - i];
    body.Signed(static_cast<int64_t>(pc - before));
    before = pc;
  }
  if (!Commit(DictionaryType::kStack, body)) return false;
  for (uint32_t i = shared; i < depth; ++i) previous_[i] = stack.pcs[depth - 1 - i];
  previous_depth_ = depth;
  return true;
}

bool DictionaryEncoder::AddPythonStack(const PythonStackView& stack) {
  Body body(*this);
  body.Varint(stack.id).Fixed64(stack.hash).Varint(stack.truncated ? 1 : 0).Varint(stack.depth);
  for (uint32_t i = 0; i < stack.depth; ++i) {
    body.Varint(stack.frames[2 * i]).Varint(stack.frames[2 * i + 1]);
  }
  return Commit(DictionaryType::kPythonStack, body);
}

bool DictionaryEncoder::AddModule(const ModuleView& module) {
  Body body(*this);
  body.Varint(module.id).Text(module.path).Text(module.build_id);
  body.Varint(module.start).Varint(module.end - module.start).Varint(module.bias);
  body.Varint(module.load_epoch);
  return Commit(DictionaryType::kModule, body);
}

bool DictionaryEncoder::AddModuleUnload(uint32_t module, uint32_t epoch) {
  Body body(*this);
  body.Varint(module).Varint(epoch);
  return Commit(DictionaryType::kModuleUnload, body);
}

bool DictionaryEncoder::AddCodeObject(const CodeObjectView& code) {
  Body body(*this);
  body.Varint(code.id).Fixed64(code.hash).Text(code.qualified_name).Text(code.file);
  body.Varint(code.first_line).Varint(code.python_version).Text(code.line_table);
  return Commit(DictionaryType::kCodeObject, body);
}

bool DictionaryEncoder::AddThread(uint32_t id, uint32_t tid, Bytes name) {
  Body body(*this);
  body.Varint(id).Varint(tid).Text(name);
  return Commit(DictionaryType::kThread, body);
}

bool DictionaryEncoder::AddContext(uint32_t id, uint64_t handle, int32_t device) {
  Body body(*this);
  body.Varint(id).Varint(handle).Signed(device);
  return Commit(DictionaryType::kContext, body);
}

bool DictionaryEncoder::AddDevice(int32_t ordinal, Bytes name, const uint8_t uuid[16],
                                  uint64_t total_bytes) {
  Body body(*this);
  body.Signed(ordinal).Text(name).Raw({uuid, 16}).Varint(total_bytes);
  return Commit(DictionaryType::kDevice, body);
}

bool DictionaryEncoder::AddAllocator(uint32_t id, Bytes framework, Bytes name, int32_t device) {
  Body body(*this);
  body.Varint(id).Text(framework).Text(name).Signed(device);
  return Commit(DictionaryType::kAllocator, body);
}

bool DictionaryEncoder::AddFact(Bytes key, Bytes value) {
  Body body(*this);
  body.Text(key).Text(value);
  return Commit(DictionaryType::kFact, body);
}

bool DictionaryEncoder::AddTrouble(Bytes text) {
  Body body(*this);
  body.Text(text);
  return Commit(DictionaryType::kTrouble, body);
}

bool DictionaryEncoder::AddEnd(EndReason reason, uint64_t time) {
  Body body(*this);
  body.Varint(static_cast<uint64_t>(reason)).Varint(time);
  return Commit(DictionaryType::kEnd, body);
}

}  // namespace gputrace::trace

// SPDX-License-Identifier: Apache-2.0
#include "trace/dictionary_builder.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "trace/hex.h"
#include "trace/varint.h"

namespace gputrace::trace {
namespace {

// Ids are dense, so that a gap means that definitions were lost. A larger one is taken as damage:
// it would make a small file claim a lot of memory.
constexpr uint64_t kMaxIdGap = 1u << 18;

template <typename T>
T* Slot(std::vector<T>& items, uint64_t id) {
  if (id == 0 || id > items.size() + kMaxIdGap) return nullptr;
  if (id > items.size()) items.resize(id);
  return &items[id - 1];
}

std::string FormatUuid(std::string_view bytes) {
  if (bytes.find_first_not_of('\0') == std::string_view::npos) return "";
  const std::string hex = ToHex(bytes);
  return absl::StrFormat("GPU-%s-%s-%s-%s-%s", hex.substr(0, 8), hex.substr(8, 4),
                         hex.substr(12, 4), hex.substr(16, 4), hex.substr(20));
}

}  // namespace

// Reads fields one after the other; after the first that does not fit, ok() is false and all
// further fields are zero.
class DictionaryBuilder::Cursor {
 public:
  Cursor(const uint8_t* at, const uint8_t* end) : at_(at), end_(end) {}

  bool ok() const { return at_ != nullptr; }
  bool done() const { return at_ == end_; }
  size_t left() const { return ok() ? static_cast<size_t>(end_ - at_) : 0; }

  uint64_t Varint() {
    uint64_t value = 0;
    if (at_ != nullptr) at_ = GetVarint(at_, end_, &value);
    return at_ == nullptr ? 0 : value;
  }
  int64_t Signed() { return UnZigZag(Varint()); }
  std::string_view Raw(uint64_t size) {
    if (at_ == nullptr || size > left()) {
      at_ = nullptr;
      return {};
    }
    const std::string_view bytes(reinterpret_cast<const char*>(at_), size);
    at_ += size;
    return bytes;
  }
  uint64_t Fixed64() {
    const std::string_view bytes = Raw(sizeof(uint64_t));
    uint64_t value = 0;
    if (ok()) memcpy(&value, bytes.data(), sizeof(value));
    return value;
  }
  std::string_view Text() {
    const uint64_t size = Varint();
    if (size > kMaxStringBytes) at_ = nullptr;
    return Raw(size);
  }
  // A count of things of at least `bytes` each: bounded by what is left to read.
  uint64_t Count(uint64_t bytes) {
    const uint64_t count = Varint();
    if (count > left() / bytes) at_ = nullptr;
    return ok() ? count : 0;
  }

 private:
  const uint8_t* at_;
  const uint8_t* end_;
};

absl::Status DictionaryBuilder::AddPayload(std::span<const uint8_t> payload) {
  previous_.clear();
  Cursor in(payload.data(), payload.data() + payload.size());
  while (in.ok() && !in.done()) {
    const uint64_t type = in.Varint();
    const std::string_view body = in.Raw(in.Varint());
    if (!in.ok()) break;
    const auto* bytes = reinterpret_cast<const uint8_t*>(body.data());
    Cursor record(bytes, bytes + body.size());
    if (!AddRecord(static_cast<DictionaryType>(type), record)) {
      return absl::DataLossError(absl::StrFormat("bad definition of type %d", type));
    }
  }
  return in.ok() ? absl::OkStatus() : absl::DataLossError("dictionary block is cut off");
}

// Bodies may be longer than what is read here: later versions append fields.
bool DictionaryBuilder::AddRecord(DictionaryType type, Cursor& in) {
  switch (type) {
    case DictionaryType::kString:
      return ReadString(in);
    case DictionaryType::kEntry:
      return ReadEntry(in);
    case DictionaryType::kStack:
      return ReadStack(in);
    case DictionaryType::kPythonStack:
      return ReadPythonStack(in);
    case DictionaryType::kModule:
      return ReadModule(in);
    case DictionaryType::kModuleUnload:
      return ReadModuleUnload(in);
    case DictionaryType::kCodeObject:
      return ReadCodeObject(in);
    case DictionaryType::kThread:
      return ReadThread(in);
    case DictionaryType::kContext:
      return ReadContext(in);
    case DictionaryType::kDevice:
      return ReadDevice(in);
    case DictionaryType::kAllocator:
      return ReadAllocator(in);
    case DictionaryType::kFact:
      return ReadFact(in);
    case DictionaryType::kTrouble:
      dictionary_.troubles_.emplace_back(in.Text());
      return in.ok();
    case DictionaryType::kEnd:
      return ReadEnd(in);
  }
  return true;  // a later version's: skipped
}

bool DictionaryBuilder::ReadString(Cursor& in) {
  const uint64_t id = in.Varint();
  const std::string_view text = in.Text();
  std::string* slot = in.ok() ? Slot(dictionary_.strings_, id) : nullptr;
  if (slot == nullptr) return false;
  *slot = text;
  return true;
}

bool DictionaryBuilder::ReadEntry(Cursor& in) {
  EntryDescriptor entry;
  const uint64_t id = in.Varint();
  if (id == 0 || id > 0xffff) return false;
  entry.id = static_cast<uint16_t>(id);
  entry.symbol = in.Text();
  entry.entry_class = static_cast<EntryClass>(in.Varint());
  entry.intent = in.Varint() != 0;
  entry.context_source = static_cast<ContextSource>(in.Varint());
  entry.capture = static_cast<CaptureRule>(in.Varint());
  for (uint64_t n = in.Count(2); n > 0; --n) {
    const auto verb = static_cast<Verb>(in.Varint());
    entry.effects.push_back({verb, in.Varint()});
  }
  for (uint64_t n = in.Count(4); n > 0; --n) {
    OperandDescriptor operand;
    operand.name = in.Text();
    const uint64_t role = in.Varint();
    operand.out = in.Varint() != 0;
    const uint64_t predictor = in.Varint();
    // Both steer the codec: a version that adds one raises the minimum reader version.
    if (role == 0 || role > kLastRole) return false;
    if (predictor > static_cast<uint64_t>(Predictor::kClose)) return false;
    operand.role = static_cast<Role>(role);
    operand.predictor = static_cast<Predictor>(predictor);
    entry.operands.push_back(std::move(operand));
  }
  if (!in.ok()) return false;
  if (dictionary_.entry_positions_.size() <= id) dictionary_.entry_positions_.resize(id + 1);
  uint16_t& position = dictionary_.entry_positions_[id];
  if (position != 0) return true;
  dictionary_.entries_.push_back(std::move(entry));
  position = static_cast<uint16_t>(dictionary_.entries_.size());
  return true;
}

bool DictionaryBuilder::ReadStack(Cursor& in) {
  const uint64_t id = in.Varint();
  const uint64_t hash = in.Fixed64();
  const uint64_t epoch = in.Varint();
  const bool truncated = in.Varint() != 0;
  const uint64_t depth = in.Varint();
  const uint64_t shared = in.Varint();
  if (!in.ok() || depth > kMaxStackDepth || shared > depth || shared > previous_.size())
    return false;
  previous_.resize(shared);
  for (uint64_t i = shared; i < depth; ++i) {
    const uint64_t before = i > 0 ? previous_[i - 1] : 0;
    previous_.push_back(before + static_cast<uint64_t>(in.Signed()));
  }
  Dictionary::StoredStack* slot = in.ok() ? Slot(dictionary_.stacks_, id) : nullptr;
  if (slot == nullptr) return false;
  *slot = {hash, dictionary_.frames_.size(), static_cast<uint32_t>(depth),
           static_cast<uint32_t>(epoch), truncated};
  dictionary_.frames_.insert(dictionary_.frames_.end(), previous_.rbegin(), previous_.rend());
  return true;
}

bool DictionaryBuilder::ReadPythonStack(Cursor& in) {
  const uint64_t id = in.Varint();
  PythonStack stack;
  stack.hash = in.Fixed64();
  stack.truncated = in.Varint() != 0;
  for (uint64_t n = in.Count(2); n > 0; --n) {
    PythonFrame frame;
    frame.code_object = static_cast<uint32_t>(in.Varint());
    frame.instruction = static_cast<int32_t>(in.Varint()) - 1;
    stack.frames.push_back(frame);
  }
  PythonStack* slot = in.ok() ? Slot(dictionary_.python_stacks_, id) : nullptr;
  if (slot == nullptr) return false;
  *slot = std::move(stack);
  return true;
}

bool DictionaryBuilder::ReadModule(Cursor& in) {
  Module module;
  module.id = static_cast<uint32_t>(in.Varint());
  module.path = in.Text();
  module.build_id = ToHex(in.Text());
  module.start = in.Varint();
  module.end = module.start + in.Varint();
  module.bias = in.Varint();
  module.load_epoch = static_cast<uint32_t>(in.Varint());
  Module* slot = in.ok() ? Slot(dictionary_.modules_, module.id) : nullptr;
  if (slot == nullptr) return false;
  *slot = std::move(module);
  return true;
}

bool DictionaryBuilder::ReadModuleUnload(Cursor& in) {
  const uint64_t id = in.Varint();
  const uint64_t epoch = in.Varint();
  Module* slot = in.ok() ? Slot(dictionary_.modules_, id) : nullptr;
  if (slot == nullptr) return false;
  slot->unload_epoch = static_cast<uint32_t>(epoch);
  return true;
}

bool DictionaryBuilder::ReadCodeObject(Cursor& in) {
  CodeObject code;
  code.id = static_cast<uint32_t>(in.Varint());
  code.hash = in.Fixed64();
  code.qualified_name = in.Text();
  code.file = in.Text();
  code.first_line = static_cast<uint32_t>(in.Varint());
  code.python_version = static_cast<uint16_t>(in.Varint());
  code.line_table = in.Text();
  CodeObject* slot = in.ok() ? Slot(dictionary_.code_objects_, code.id) : nullptr;
  if (slot == nullptr) return false;
  *slot = std::move(code);
  return true;
}

bool DictionaryBuilder::ReadThread(Cursor& in) {
  Thread thread;
  thread.id = static_cast<uint32_t>(in.Varint());
  thread.tid = static_cast<uint32_t>(in.Varint());
  thread.name = in.Text();
  Thread* slot = in.ok() ? Slot(dictionary_.threads_, thread.id) : nullptr;
  if (slot == nullptr) return false;
  *slot = std::move(thread);
  return true;
}

bool DictionaryBuilder::ReadContext(Cursor& in) {
  Context context;
  context.id = static_cast<uint32_t>(in.Varint());
  context.handle = in.Varint();
  context.device = static_cast<int32_t>(in.Signed());
  Context* slot = in.ok() ? Slot(dictionary_.contexts_, context.id) : nullptr;
  if (slot == nullptr) return false;
  *slot = context;
  return true;
}

bool DictionaryBuilder::ReadDevice(Cursor& in) {
  const auto ordinal = static_cast<int32_t>(in.Signed());
  const std::string_view name = in.Text();
  const std::string_view uuid = in.Raw(16);
  const uint64_t total_bytes = in.Varint();
  if (!in.ok()) return false;
  AddDevice(ordinal, name, uuid, total_bytes);
  return true;
}

bool DictionaryBuilder::ReadAllocator(Cursor& in) {
  Allocator allocator;
  allocator.id = static_cast<uint32_t>(in.Varint());
  allocator.framework = in.Text();
  allocator.name = in.Text();
  allocator.device = static_cast<int32_t>(in.Signed());
  Allocator* slot = in.ok() ? Slot(dictionary_.allocators_, allocator.id) : nullptr;
  if (slot == nullptr) return false;
  *slot = std::move(allocator);
  return true;
}

bool DictionaryBuilder::ReadFact(Cursor& in) {
  const std::string_view key = in.Text();
  const std::string_view value = in.Text();
  if (!in.ok()) return false;
  dictionary_.facts_[std::string(key)] = value;
  return true;
}

bool DictionaryBuilder::ReadEnd(Cursor& in) {
  End end;
  end.reason = static_cast<EndReason>(in.Varint());
  end_time_units_ = in.Varint();
  if (!in.ok()) return false;
  dictionary_.end_ = end;
  return true;
}

uint32_t DictionaryBuilder::AddStack(uint64_t hash, uint32_t epoch, bool truncated,
                                     std::span<const uint64_t> pcs) {
  dictionary_.stacks_.push_back(
      {hash, dictionary_.frames_.size(), static_cast<uint32_t>(pcs.size()), epoch, truncated});
  dictionary_.frames_.insert(dictionary_.frames_.end(), pcs.begin(), pcs.end());
  return static_cast<uint32_t>(dictionary_.stacks_.size());
}

uint32_t DictionaryBuilder::AddPythonStack(PythonStack stack) {
  dictionary_.python_stacks_.push_back(std::move(stack));
  return static_cast<uint32_t>(dictionary_.python_stacks_.size());
}

uint32_t DictionaryBuilder::AddCodeObject(CodeObject code) {
  code.id = static_cast<uint32_t>(dictionary_.code_objects_.size() + 1);
  dictionary_.code_objects_.push_back(std::move(code));
  return dictionary_.code_objects_.back().id;
}

uint32_t DictionaryBuilder::AddString(std::string_view text) {
  dictionary_.strings_.emplace_back(text);
  return static_cast<uint32_t>(dictionary_.strings_.size());
}

void DictionaryBuilder::AddContext(const Context& context) {
  if (Context* slot = Slot(dictionary_.contexts_, context.id); slot != nullptr) *slot = context;
}

void DictionaryBuilder::AddThread(const Thread& thread) {
  Thread* slot = Slot(dictionary_.threads_, thread.id);
  if (slot != nullptr && slot->id == 0) *slot = thread;
}

void DictionaryBuilder::AddModule(Module module) {
  for (Module& known : dictionary_.modules_) {
    if (known.start == module.start && known.end == module.end && known.path == module.path) {
      known.load_epoch = std::min(known.load_epoch, module.load_epoch);
      return;
    }
  }
  module.id = static_cast<uint32_t>(dictionary_.modules_.size() + 1);
  dictionary_.modules_.push_back(std::move(module));
}

void DictionaryBuilder::AddDevice(int32_t ordinal, std::string_view name, std::string_view uuid,
                                  uint64_t total_bytes) {
  for (const Device& known : dictionary_.devices_) {
    if (known.ordinal == ordinal) return;
  }
  dictionary_.devices_.push_back({ordinal, std::string(name), FormatUuid(uuid), total_bytes});
}

void DictionaryBuilder::AddFact(std::string_view key, std::string_view value) {
  dictionary_.facts_.try_emplace(std::string(key), value);
}

std::vector<EntryHints> MakeHints(const Dictionary& dictionary) {
  std::vector<EntryHints> hints;
  for (const EntryDescriptor& entry : dictionary.entries()) {
    if (hints.size() <= entry.id) hints.resize(entry.id + 1u);
    EntryHints& hint = hints[entry.id];
    const size_t count = std::min<size_t>(entry.operands.size(), EntryHints::kMax);
    hint.count = static_cast<uint8_t>(count);
    for (size_t i = 0; i < count; ++i) {
      const OperandDescriptor& operand = entry.operands[i];
      hint.operands[i] = {operand.role, operand.predictor};
      if (!operand.out) ++hint.in_count;
    }
  }
  return hints;
}

}  // namespace gputrace::trace

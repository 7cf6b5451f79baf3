// SPDX-License-Identifier: Apache-2.0
#include "trace/dictionary.h"

namespace gputrace::trace {
namespace {

template <typename T>
const T& At(const std::vector<T>& items, uint32_t id) {
  static const T kNone{};
  return id == 0 || id > items.size() ? kNone : items[id - 1];
}

}  // namespace

int EntryDescriptor::FindOperand(Role role) const {
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].role == role) return static_cast<int>(i);
  }
  return -1;
}

bool EntryDescriptor::HasEffect(Verb verb, uint64_t kinds) const {
  for (const Effect& effect : effects) {
    if (effect.verb == verb && (effect.kinds & kinds) != 0) return true;
  }
  return false;
}

std::string_view Dictionary::string(uint32_t id) const { return At(strings_, id); }

Stack Dictionary::stack(uint32_t id) const {
  const StoredStack& stored = At(stacks_, id);
  return {stored.hash, stored.epoch, stored.truncated,
          std::span<const uint64_t>(frames_).subspan(stored.first, stored.depth)};
}

const PythonStack& Dictionary::python_stack(uint32_t id) const { return At(python_stacks_, id); }
const CodeObject& Dictionary::code_object(uint32_t id) const { return At(code_objects_, id); }
const Thread& Dictionary::thread(uint32_t id) const { return At(threads_, id); }
const Context& Dictionary::context(uint32_t id) const { return At(contexts_, id); }
const Allocator& Dictionary::allocator(uint32_t id) const { return At(allocators_, id); }

const EntryDescriptor* Dictionary::entry(uint16_t id) const {
  if (id >= entry_positions_.size() || entry_positions_[id] == 0) return nullptr;
  return &entries_[entry_positions_[id] - 1u];
}

// Where modules were mapped at one address in turn, the epoch tells which it was: the one loaded
// last before. A module may first have been seen a little later than it was loaded, and so any that
// covers the address is better than none.
const Module* Dictionary::FindModule(uint64_t pc, uint32_t epoch) const {
  const Module* best = nullptr;
  for (const Module& module : modules_) {
    if (pc < module.start || pc >= module.end) continue;
    const bool in_time = module.load_epoch <= epoch;
    const bool best_in_time = best != nullptr && best->load_epoch <= epoch;
    if (best == nullptr || (in_time && (!best_in_time || module.load_epoch > best->load_epoch)) ||
        (!in_time && !best_in_time && module.load_epoch < best->load_epoch)) {
      best = &module;
    }
  }
  return best;
}

std::string_view Dictionary::fact(const std::string& key) const {
  const auto found = facts_.find(key);
  return found == facts_.end() ? std::string_view() : std::string_view(found->second);
}

}  // namespace gputrace::trace

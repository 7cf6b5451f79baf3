// SPDX-License-Identifier: Apache-2.0
#include "interpose/stacks/rule_cache.h"

#include <cstring>

#include "interpose/stacks/code_map.h"

namespace gputrace::interpose {

void RuleCache::Clear() {
  memset(modules_, 0, sizeof(modules_));
  if (period_ >= 0xffff) {
    memset(static_cast<void*>(sets_), 0, sizeof(sets_));
    period_ = 0;
  }
  ++period_;
}

const CodeModule* RuleCache::FindModule(uint64_t address) {
  for (const CodeModule& module : modules_) {
    if (address - module.code_start < module.code_end - module.code_start) return &module;
  }
  CodeModule* module = &modules_[next_module_ % kModules];
  CodeModule found;
  if (!FindCodeModule(address, &found)) return nullptr;
  ++next_module_;
  *module = found;
  return module;
}

FrameRule RuleCache::FindSlow(uint64_t address) {
  if (address >> kAddressBits != 0) return FrameRule();  // not a program's
  if (period_ == 0) period_ = 1;
  const CodeModule* module = FindModule(address);
  // Code of no object (made at run time, say) may be replaced without notice.
  if (module == nullptr) return FrameRule();
  const FrameRule rule = ReadRule(*module, address);
  Set& set = sets_[SetOf(address)];
  const uint64_t key = address | period_ << kAddressBits;
  for (Entry& entry : set.entries) {
    if (entry.key >> kAddressBits == period_) continue;  // in use
    entry = {key, rule};
    return rule;
  }
  set.entries[next_way_++ % kWays] = {key, rule};
  return rule;
}

}  // namespace gputrace::interpose

// SPDX-License-Identifier: Apache-2.0
#include "analyzer/ledger/site_table.h"

namespace gputrace::ledger {

uint32_t SiteTable::Find(uint32_t process, uint32_t native_stack, uint32_t python_stack) {
  if (process >= processes_.size()) processes_.resize(process + size_t{1});
  PerProcess& known = processes_[process];
  const auto next = static_cast<uint32_t>(sites_.size());
  if (python_stack == 0) {
    if (native_stack >= known.native_only.size())
      known.native_only.resize(native_stack + size_t{1});
    uint32_t& position = known.native_only[native_stack];
    if (position != 0) return position - 1;
    position = next + 1;
  } else {
    const auto [found, is_new] = known.mixed.try_emplace({native_stack, python_stack}, next);
    if (!is_new) return found->second;
  }
  sites_.push_back({process, native_stack, python_stack});
  return next;
}

}  // namespace gputrace::ledger

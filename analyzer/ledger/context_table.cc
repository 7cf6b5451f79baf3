// SPDX-License-Identifier: Apache-2.0
#include "analyzer/ledger/context_table.h"

namespace gputrace::ledger {

uint32_t ContextTable::OfDictionary(uint32_t id) {
  if (id == 0 || id > known_.size()) return 0;
  if (of_dictionary_.size() < known_.size()) of_dictionary_.resize(known_.size());
  uint32_t& context = of_dictionary_[id - 1];
  if (context != 0) return context;
  const ContextInfo& info = known_[id - 1];
  const auto found = of_handle_.find(info.handle);
  if (found != of_handle_.end()) return context = found->second;
  const uint32_t named = NamePrimary(info.handle, info.device);
  // NamePrimary has cleared the cache.
  of_dictionary_.resize(known_.size());
  return of_dictionary_[id - 1] = named;
}

uint32_t ContextTable::OfHandle(uint64_t handle) {
  const auto found = of_handle_.find(handle);
  return found == of_handle_.end() ? 0 : found->second;
}

uint32_t ContextTable::Primary(int32_t device) {
  uint32_t& context = primaries_[device];
  if (context == 0) {
    states_.push_back({0, device, true, false, 0});
    context = static_cast<uint32_t>(states_.size());
  }
  return context;
}

uint32_t ContextTable::Create(uint64_t handle, int32_t device) {
  greens_.erase(handle);
  states_.push_back({handle, device, false, true, 1});
  const auto context = static_cast<uint32_t>(states_.size());
  SetHandle(handle, context);
  return context;
}

uint32_t ContextTable::NamePrimary(uint64_t handle, int32_t device) {
  const uint32_t context = Primary(device);
  states_[context - 1].handle = handle;
  const auto found = of_handle_.find(handle);
  if (found == of_handle_.end() || found->second != context) SetHandle(handle, context);
  return context;
}

void ContextTable::NameGreen(uint64_t handle, uint64_t green) {
  greens_.insert(handle);
  const uint32_t primary = PrimaryOfGreen(green);
  if (primary != 0) SetHandle(handle, primary);
}

uint32_t ContextTable::PrimaryOfGreen(uint64_t green) {
  const auto found = green_devices_.find(green);
  return found == green_devices_.end() ? 0 : Primary(found->second);
}

void ContextTable::SetHandle(uint64_t handle, uint32_t context) {
  of_handle_[handle] = context;
  of_dictionary_.clear();
}

}  // namespace gputrace::ledger

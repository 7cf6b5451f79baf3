// SPDX-License-Identifier: Apache-2.0
#include "simulator/driver/entry.h"

#include "simulator/driver/failures.h"
#include "simulator/driver/lifetime.h"

namespace gputrace::sim {
namespace {

// No destructor: programs call the driver from theirs.
thread_local constinit const Entry* t_entry = nullptr;
thread_local constinit bool t_in_host_function = false;

CUresult Refusal(unsigned index, uint64_t call_number) {
  if (!kEntries[index].before_init) {
    if (const CUresult result = CheckUsable(); result != CUDA_SUCCESS) return result;
    if (t_in_host_function) return CUDA_ERROR_NOT_PERMITTED;
  }
  return InjectedFailure(index, call_number);
}

}  // namespace

EntryCall::EntryCall(unsigned index) : outer_(t_entry) {
  t_entry = &kEntries[index];
  refusal_ = Refusal(index, g_calls[index].fetch_add(1, std::memory_order_relaxed) + 1);
}

EntryCall::~EntryCall() { t_entry = outer_; }

HostFunctionScope::HostFunctionScope() { t_in_host_function = true; }
HostFunctionScope::~HostFunctionScope() { t_in_host_function = false; }

const Entry* CurrentEntry() { return t_entry; }
const char* CurrentSymbol() { return t_entry == nullptr ? "" : t_entry->symbol; }

}  // namespace gputrace::sim

// SPDX-License-Identifier: Apache-2.0
// Memory that is handed to other processes, and comes from them.
#include "analyzer/ledger/ledger.h"

namespace gputrace::ledger {

using trace::ObjectKind;
using trace::Role;

void Ledger::Export(const Operands& operands) {
  uint64_t key = 0;
  uint64_t token = 0;
  const Allocation* memory = nullptr;
  if (operands.In(Role::kAddress, &key)) {
    memory = objects_.FindPointer(key);
  } else if (operands.In(Role::kHandle, &key)) {
    memory = objects_.FindHandle(ObjectKind::kVmmHandle, key);
  }
  if (memory == nullptr) return;
  if (operands.Out(Role::kIpcHandle, &token) && token != 0 && process_.shares != nullptr) {
    // The same handle again is the same memory, unless that has been freed since.
    const uint32_t known = process_.shares->Find(token);
    if (known == 0 || (*process_.shares)[known].id != memory->id) {
      process_.shares->Export(token, *memory);
    }
  }
  if (operands.Out(Role::kFd, &token)) exports_[token] = {memory->slot, memory->id};
}

// An import says neither how large it is nor where; the export does.
void Ledger::JoinShare(const Operands& operands, Allocation* allocation) {
  uint64_t token = 0;
  if (process_.shares == nullptr || !operands.In(Role::kIpcHandle, &token)) return;
  allocation->origin = process_.shares->Find(token);
  if (allocation->origin == 0) return;
  const Allocation& shared = (*process_.shares)[allocation->origin];
  allocation->bytes = shared.bytes;
  allocation->device = shared.device;
}

}  // namespace gputrace::ledger

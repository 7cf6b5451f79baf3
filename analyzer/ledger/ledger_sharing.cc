// SPDX-License-Identifier: Apache-2.0
// Memory that is handed to other processes, and comes from them.
#include "analyzer/ledger/ledger.h"

namespace gputrace::ledger {

using trace::Role;

void Ledger::Share(const Operands& operands) {
  uint64_t address = 0;
  uint64_t token = 0;
  if (process_.shares == nullptr || !operands.In(Role::kAddress, &address) ||
      !operands.Out(Role::kIpcHandle, &token) || token == 0) {
    return;
  }
  const Allocation* memory = objects_.FindPointer(address);
  if (memory == nullptr) return;
  // The same handle again is the same memory, unless that has been freed since.
  const uint32_t known = process_.shares->Find(token);
  if (known == 0 || (*process_.shares)[known].id != memory->id) {
    process_.shares->Export(token, *memory);
  }
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

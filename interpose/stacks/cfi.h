// SPDX-License-Identifier: Apache-2.0
// Reads call frame information (.eh_frame: DWARF as the Linux Standard Base and the x86-64 ABI
// have it) of the one address that is asked for. Reads nothing outside of the given section and the
// module that it is in; allocates nothing, keeps nothing.
#ifndef GPUTRACE_INTERPOSE_STACKS_CFI_H_
#define GPUTRACE_INTERPOSE_STACKS_CFI_H_

#include <cstdint>

#include "interpose/stacks/frame_rule.h"

namespace gputrace::interpose {

// Where a loaded object has code, and its table of frame information. All are addresses in this
// process.
struct CodeModule {
  uint64_t code_start;
  uint64_t code_end;
  uint64_t data_start;  // of what holds the table and the frame information
  uint64_t data_end;
  uint64_t eh_frame_hdr;  // 0: the object has none
};

// The rule at `address`, which must be in the module's code. kNone if nothing covers it; kComplex
// also if the information is damaged or of an unknown form.
FrameRule ReadRule(const CodeModule& module, uint64_t address);

}  // namespace gputrace::interpose

#endif  // GPUTRACE_INTERPOSE_STACKS_CFI_H_

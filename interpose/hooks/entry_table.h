// SPDX-License-Identifier: Apache-2.0
// The descriptors of the driver entries that the tracer wraps, generated from driver_api/.
#ifndef GPUTRACE_INTERPOSE_HOOKS_ENTRY_TABLE_H_
#define GPUTRACE_INTERPOSE_HOOKS_ENTRY_TABLE_H_

#include <cstdint>

#include "trace/format.h"

namespace gputrace::interpose {

struct StaticEffect {
  trace::Verb verb;
  uint64_t kinds;  // KindBit()s
};
struct StaticOperand {
  const char* name;
  trace::Role role;
  bool out;
  trace::Predictor predictor;
};
struct StaticEntry {
  const char* symbol;
  trace::EntryClass entry_class;
  bool intent;
  trace::ContextSource context_source;
  trace::CaptureRule capture;
  const StaticEffect* effects;
  uint32_t effect_count;
  const StaticOperand* operands;
  uint32_t operand_count;
};

// Indexed by entry id, 1 to kEntryCount.
extern const StaticEntry kEntries[];
extern const uint16_t kEntryCount;
inline constexpr uint16_t kMaxEntries = 512;

}  // namespace gputrace::interpose

#endif  // GPUTRACE_INTERPOSE_HOOKS_ENTRY_TABLE_H_

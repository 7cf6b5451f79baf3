// SPDX-License-Identifier: Apache-2.0
// What a trace says about the driver entries that its calls went through. A trace carries the
// descriptors of the entries it uses, so that readers need no table of the driver's functions.
#ifndef GPUTRACE_TRACE_DESCRIPTOR_H_
#define GPUTRACE_TRACE_DESCRIPTOR_H_

#include <cstdint>
#include <string>
#include <vector>

#include "trace/format.h"

namespace gputrace::trace {

struct OperandDescriptor {
  std::string name;
  Role role = Role::kValue;
  bool out = false;
  Predictor predictor = Predictor::kLast;
};

struct Effect {
  Verb verb = Verb::kQuery;
  uint64_t kinds = 0;  // KindBit()s: what the verb may act on
};

struct EntryDescriptor {
  uint16_t id = 0;
  std::string symbol;  // as the dynamic linker knows it
  EntryClass entry_class = EntryClass::kObserve;
  bool intent = false;  // appears as kIntent before it is forwarded
  ContextSource context_source = ContextSource::kNone;
  CaptureRule capture = CaptureRule::kLegal;
  std::vector<Effect> effects;
  std::vector<OperandDescriptor> operands;  // in operands first, then out operands

  // Position of the first operand of `role` (in `out` direction if so wanted), or -1.
  int FindOperand(Role role) const;
  bool HasEffect(Verb verb, uint64_t kinds) const;
};

}  // namespace gputrace::trace

#endif  // GPUTRACE_TRACE_DESCRIPTOR_H_

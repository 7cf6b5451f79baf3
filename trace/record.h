// SPDX-License-Identifier: Apache-2.0
// The one shape that all events of the timeline have, as a reader hands them out.
#ifndef GPUTRACE_TRACE_RECORD_H_
#define GPUTRACE_TRACE_RECORD_H_

#include <cstdint>
#include <span>

#include "trace/format.h"

namespace gputrace::trace {

struct Record {
  RecordKind kind = RecordKind::kCall;
  uint8_t flags = 0;     // RecordFlags
  uint16_t entry = 0;    // id of the entry descriptor; 0 for kinds that are not calls
  int32_t result = 0;    // CUresult; 0 for intents
  uint32_t thread = 0;   // dictionary id
  uint32_t context = 0;  // dictionary id of the thread's current context; 0 if none
  int64_t time_ns = 0;   // since the trace's start
  // Of the forwarded call, rounded down to one of 4 steps per power of two; 0 below 1 µs.
  uint64_t duration_ns = 0;
  uint32_t native_stack = 0;  // dictionary ids; 0 = none
  uint32_t python_stack = 0;
  // In the order of EntryDescriptor::operands; out operands are absent when the call failed. Valid
  // until the next record is read.
  std::span<const uint64_t> operands;
};

}  // namespace gputrace::trace

#endif  // GPUTRACE_TRACE_RECORD_H_

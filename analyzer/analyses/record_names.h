// SPDX-License-Identifier: Apache-2.0
// What the timeline's kinds of records and their operands are called in output.
#ifndef GPUTRACE_ANALYZER_ANALYSES_RECORD_NAMES_H_
#define GPUTRACE_ANALYZER_ANALYSES_RECORD_NAMES_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "trace/dictionary.h"
#include "trace/format.h"

namespace gputrace::analyses {

// "call", "sample", …
std::string_view RecordKindName(trace::RecordKind kind);

// The operand's name; "operand3" if none is known. For kinds that are not calls.
std::string OperandName(trace::RecordKind kind, uint32_t operand);

// The text that the operand of such a kind stands for; empty if it is a number.
std::string OperandText(trace::RecordKind kind, uint32_t operand, uint64_t value,
                        const trace::Dictionary& dictionary);

}  // namespace gputrace::analyses

#endif  // GPUTRACE_ANALYZER_ANALYSES_RECORD_NAMES_H_

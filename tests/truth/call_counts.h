// SPDX-License-Identifier: Apache-2.0
// How often each entry was called: as the stand-in counted, and as the trace has it.
#ifndef GPUTRACE_TESTS_TRUTH_CALL_COUNTS_H_
#define GPUTRACE_TESTS_TRUTH_CALL_COUNTS_H_

#include <cstdint>
#include <map>
#include <string>

#include "trace/dictionary.h"
#include "trace/record.h"

namespace gputrace::truth {

class CallCounts {
 public:
  explicit CallCounts(const trace::Dictionary& dictionary) : dictionary_(dictionary) {}

  void Count(const trace::Record& record);
  // Compares with the "calls" of the stand-in's account, a file (GPUSIM_LEDGER). Describes the
  // first difference; empty if there is none.
  std::string Compare(const std::string& ledger_path) const;

 private:
  const trace::Dictionary& dictionary_;
  std::map<uint16_t, uint64_t> counts_;
};

}  // namespace gputrace::truth

#endif  // GPUTRACE_TESTS_TRUTH_CALL_COUNTS_H_

// SPDX-License-Identifier: Apache-2.0
// How many events of which type a trace holds.
#ifndef GPUTRACE_ANALYZER_ANALYSES_EVENT_COUNTS_H_
#define GPUTRACE_ANALYZER_ANALYSES_EVENT_COUNTS_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "trace/dictionary.h"
#include "trace/record.h"

namespace gputrace::analyses {

// A call counts once: an intent and its completion are one event.
class EventCounts {
 public:
  void Count(const trace::Record& record);

  uint64_t total() const { return total_; }
  int64_t last_ns() const { return last_ns_; }  // of the last record
  // Calls by the function's symbol, others by the kind of record.
  std::map<std::string, uint64_t> ByType(const trace::Dictionary& dictionary) const;

 private:
  uint64_t total_ = 0;
  int64_t last_ns_ = 0;
  std::vector<uint64_t> calls_;  // by entry
  std::array<uint64_t, 256> others_{};
};

}  // namespace gputrace::analyses

#endif  // GPUTRACE_ANALYZER_ANALYSES_EVENT_COUNTS_H_

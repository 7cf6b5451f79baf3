// SPDX-License-Identifier: Apache-2.0
// Compares captured stacks with what libgcc's unwinder, which C++ exceptions rely on, finds.
#ifndef GPUTRACE_TESTS_UNIT_INTERPOSE_STACKS_ORACLE_H_
#define GPUTRACE_TESTS_UNIT_INTERPOSE_STACKS_ORACLE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "interpose/stacks/captured_stack.h"

namespace gputrace::interpose {

// One thread's own. Signal handlers must not interrupt Check.
class Oracle {
 public:
  explicit Oracle(uint32_t max_depth = trace::kMaxStackDepth) : max_depth_(max_depth) {}

  // Captures the calling thread's stack in both ways.
  [[gnu::noinline]] void Check();
  static void CheckIt(void* oracle) { static_cast<Oracle*>(oracle)->Check(); }

  bool checking() const { return checking_; }
  uint64_t checked() const { return checked_; }
  uint64_t known() const { return known_; }          // recognised without unwinding
  uint64_t cut_short() const { return cut_short_; }  // before the limit
  uint64_t wrong() const { return wrong_; }
  const std::string& first_error() const { return first_error_; }

 private:
  void Compare(const std::vector<uint64_t>& truth);
  void Fail(const char* what, const std::vector<uint64_t>& ours,
            const std::vector<uint64_t>& truth);

  const uint32_t max_depth_;
  volatile bool checking_ = false;
  uint64_t checked_ = 0;
  uint64_t known_ = 0;
  uint64_t cut_short_ = 0;
  uint64_t wrong_ = 0;
  std::string first_error_;
  CapturedStack stack_;
  std::map<uint64_t, std::vector<uint64_t>> by_hash_;
};

}  // namespace gputrace::interpose

#endif  // GPUTRACE_TESTS_UNIT_INTERPOSE_STACKS_ORACLE_H_

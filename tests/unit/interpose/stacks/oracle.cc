// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/interpose/stacks/oracle.h"

#include <unwind.h>

#include <algorithm>
#include <cstdio>

#include "tests/unit/interpose/stacks/capture.h"

namespace gputrace::interpose {
namespace {

_Unwind_Reason_Code AddFrame(_Unwind_Context* context, void* frames) {
  const auto pc = static_cast<uint64_t>(_Unwind_GetIP(context));
  if (pc != 0) static_cast<std::vector<uint64_t>*>(frames)->push_back(pc);
  return _URC_NO_REASON;
}

}  // namespace

void Oracle::Check() {
  static thread_local std::vector<uint64_t> truth;
  checking_ = true;
  truth.clear();
  if (Capture(&stack_, max_depth_)) {
    _Unwind_Backtrace(AddFrame, &truth);
    Compare(truth);
  } else {
    Fail("nothing captured", {}, truth);
  }
  checking_ = false;
}

void Oracle::Compare(const std::vector<uint64_t>& truth) {
  ++checked_;
  std::vector<uint64_t>& named = by_hash_[stack_.hash];
  std::vector<uint64_t> ours(stack_.pcs, stack_.pcs + stack_.depth);
  if (stack_.known) {
    ++known_;
    if (named.empty()) Fail("known, but never given out", named, truth);
    ours = named;
  } else if (named.empty()) {
    named = ours;
  } else if (named != ours) {
    Fail("two stacks with one hash", ours, named);
  }
  const bool at_limit = ours.size() == max_depth_ && truth.size() > max_depth_;
  if (stack_.truncated && !at_limit) ++cut_short_;
  if (!stack_.truncated && ours.size() != truth.size()) {
    Fail("another depth, and not marked", ours, truth);
  } else if (ours.size() > truth.size()) {
    Fail("more frames than there are", ours, truth);
  } else if (ours.empty() || !std::equal(ours.begin() + 1, ours.end(), truth.begin() + 1)) {
    // The first ones are two calls in Check.
    Fail("other frames", ours, truth);
  }
}

void Oracle::Fail(const char* what, const std::vector<uint64_t>& ours,
                  const std::vector<uint64_t>& truth) {
  if (++wrong_ > 1) return;
  first_error_ = what;
  char line[80];
  for (size_t i = 0; i < std::max(ours.size(), truth.size()); ++i) {
    snprintf(line, sizeof(line), "\n%3zu %16lx %16lx", i, i < ours.size() ? ours[i] : 0,
             i < truth.size() ? truth[i] : 0);
    first_error_ += line;
  }
}

}  // namespace gputrace::interpose

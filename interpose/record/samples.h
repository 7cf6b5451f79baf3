// SPDX-License-Identifier: Apache-2.0
// What the driver says of memory that no call shows: how much of the device is in use, what pools
// and graphs keep. Asked seldom, and never while a stream is capturing. Keeps errno.
//
// All are called from within an active CallScope.
#ifndef GPUTRACE_INTERPOSE_RECORD_SAMPLES_H_
#define GPUTRACE_INTERPOSE_RECORD_SAMPLES_H_

#include <cstdint>

namespace gputrace::interpose {

// Around a call by which the driver may take or give back memory of its own: contexts, modules,
// executable graphs, limits. The difference of the two samples is what the call cost. Samples
// together take a fiftieth of the time at most; calls between are not sampled.
class MemorySample {
 public:
  // Before the call is forwarded; `entry` is its own.
  explicit MemorySample(uint16_t entry);
  // After it was recorded, if it succeeded.
  void After();

 private:
  uint16_t entry_;
  bool taken_;
};

// After a call that made a context current: the first of the process is a sample, too.
void SampleFirst();

// After a call that may have changed what pools keep, at most every 10 ms: that of `pool`, or of
// the current device's pool if it is 0.
void SamplePool(uint64_t pool);
// After a call that may have changed what graphs of the current device keep; as seldom.
void SampleGraphMemory();

}  // namespace gputrace::interpose

#endif  // GPUTRACE_INTERPOSE_RECORD_SAMPLES_H_

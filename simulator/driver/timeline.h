// SPDX-License-Identifier: Apache-2.0
// The order of work on a stream, and its lazy execution.
//
// Work runs at once, in the calling thread, if nothing it depends on is still to come; host
// functions run on a thread of their own. What stream order makes visible to the host is lazier
// than that: a point of a timeline counts as *observed* only once the program has synchronised with
// it, and only then is memory that was freed there reusable by other streams.
#ifndef GPUTRACE_SIMULATOR_DRIVER_TIMELINE_H_
#define GPUTRACE_SIMULATOR_DRIVER_TIMELINE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace gputrace::sim {

class Timeline;

// A moment on a timeline: all that was submitted before it is done.
struct Moment {
  std::shared_ptr<Timeline> timeline;
  uint64_t ticket = 0;
};

struct Work {
  std::function<void()> run;
  bool host_function = false;  // on the worker thread only
  std::vector<Moment> after;
};

class Timeline {
 public:
  const uint64_t id = NextId();  // never used again, unlike addresses
  uint64_t submitted = 0;
  uint64_t completed = 0;
  uint64_t observed = 0;  // ≤ completed
  bool running = false;
  std::deque<Work> queue;
  // The newest moment of other timelines that this one has waited for.
  std::map<uint64_t, uint64_t> dependencies;  // tickets by id

 private:
  static uint64_t NextId();
};

// All of these are called with the driver's lock held, once, through a Guard (driver.h). Those that
// say so release it while they wait or run.

// Adds work to a timeline and, where possible, runs it before returning; releases the lock
// meanwhile.
void Submit(const std::shared_ptr<Timeline>& timeline, Work work);

// Waits until a moment is done, and marks it observed. Releases the lock meanwhile.
void Await(const Moment& moment);

// Whether a moment is done; marks it observed if so.
bool Observe(const Moment& moment);

inline Moment Now(const std::shared_ptr<Timeline>& timeline) {
  return {timeline, timeline->submitted};
}

}  // namespace gputrace::sim

#endif  // GPUTRACE_SIMULATOR_DRIVER_TIMELINE_H_

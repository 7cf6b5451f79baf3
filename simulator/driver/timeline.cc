// SPDX-License-Identifier: Apache-2.0
#include "simulator/driver/timeline.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "simulator/driver/driver.h"
#include "simulator/driver/entry.h"

namespace gputrace::sim {
namespace {

// Leaked, as all that calls from static destructors may need.
std::condition_variable& Changed() {
  static auto* instance = new std::condition_variable;
  return *instance;
}

// Timelines with a queue, for the worker.
std::vector<std::shared_ptr<Timeline>>& Waiting() {
  static auto* instance = new std::vector<std::shared_ptr<Timeline>>;
  return *instance;
}

bool IsDone(const Moment& moment) { return moment.timeline->completed >= moment.ticket; }

bool IsReady(const Timeline& timeline) {
  if (timeline.running || timeline.queue.empty()) return false;
  for (const Moment& moment : timeline.queue.front().after) {
    if (!IsDone(moment)) return false;
  }
  return true;
}

// Lets go of the driver's lock for a while. The thread holds it exactly once.
class Unlocked {
 public:
  Unlocked() { TheDriver().mutex.unlock(); }
  ~Unlocked() { TheDriver().mutex.lock(); }
};

void RunFront(Timeline* timeline) {
  timeline->running = true;
  const Work work = std::move(timeline->queue.front());
  timeline->queue.pop_front();
  if (work.run) {
    const Unlocked unlocked;
    if (work.host_function) {
      const HostFunctionScope scope;
      work.run();
    } else {
      work.run();
    }
  }
  timeline->running = false;
  ++timeline->completed;
  Changed().notify_all();
}

void* RunWorker(void*) {
  std::unique_lock lock(TheDriver().mutex);
  for (;;) {
    std::shared_ptr<Timeline> ready;
    std::erase_if(Waiting(), [](const auto& timeline) { return timeline->queue.empty(); });
    for (const auto& timeline : Waiting()) {
      if (IsReady(*timeline)) ready = timeline;
    }
    if (ready != nullptr) {
      RunFront(ready.get());
    } else {
      Changed().wait(lock);
    }
  }
  return nullptr;
}

void StartWorker() {
  static bool started = false;
  if (started) return;
  started = true;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  if (pthread_create(&thread, nullptr, RunWorker, nullptr) == 0) {
    pthread_setname_np(thread, "gpusim-worker");
    pthread_detach(thread);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

uint64_t Timeline::NextId() {
  static uint64_t next = 1;
  return next++;
}

void Submit(const std::shared_ptr<Timeline>& timeline, Work work) {
  ++timeline->submitted;
  for (const Moment& moment : work.after) {
    uint64_t& known = timeline->dependencies[moment.timeline->id];
    known = std::max(known, moment.ticket);
  }
  const bool for_worker = work.host_function;
  timeline->queue.push_back(std::move(work));
  if (!for_worker && timeline->queue.size() == 1 && IsReady(*timeline)) {
    RunFront(timeline.get());
    return;
  }
  Waiting().push_back(timeline);
  StartWorker();
  Changed().notify_all();
}

void Await(const Moment& moment) {
  std::unique_lock lock(TheDriver().mutex, std::adopt_lock);
  Changed().wait(lock, [&moment] { return IsDone(moment); });
  lock.release();
  Observe(moment);
}

bool Observe(const Moment& moment) {
  if (!IsDone(moment)) return false;
  moment.timeline->observed = std::max(moment.timeline->observed, moment.ticket);
  return true;
}

}  // namespace gputrace::sim

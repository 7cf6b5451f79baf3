// SPDX-License-Identifier: Apache-2.0
// Allocates and frees in a known pattern, and prints what each pair of calls took, as one line of
// JSON. Run with and without a tracer by bench.py, which subtracts.
//
//   bench_allocations host|device pairs  COUNT DEPTH CHANGED PATHS PACE_NS
//   bench_allocations host|device train  EVENTS
#include <time.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <string_view>
#include <vector>

#include "tests/bench/call_paths.h"
#include "tests/bench/memory_api.h"

namespace gputrace::bench {
namespace {

constexpr size_t kSizes = 60;
constexpr size_t kLive = 64;  // allocations alive at any time

uint64_t NowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

uint64_t Ticks() { return __builtin_ia32_rdtsc(); }

std::vector<CallPath> MakePaths(size_t count, size_t depth, size_t changed) {
  std::mt19937_64 random(7);
  CallPath base;
  for (uint8_t& function : base.functions) function = static_cast<uint8_t>(random() % kFunctions);
  std::vector<CallPath> paths(count, base);
  for (CallPath& path : paths) {
    for (size_t at = depth - changed; at < depth; ++at) {
      path.functions[at] = static_cast<uint8_t>(random() % kFunctions);
    }
  }
  return paths;
}

size_t SizeOf(size_t number) { return 512 * (1 + number % kSizes); }

// The loop that is measured: it stands below the frames that do not change.
struct PairLoop {
  MemoryApi api;
  std::vector<CallPath> paths;
  size_t count = 0;
  size_t depth = 0;
  size_t changed = 0;
  uint64_t pace_ticks = 0;  // work of the program between two pairs

  uint64_t live[kLive] = {};
  size_t number = 0;
  std::vector<uint32_t> call_ticks;  // of each pair, inside of the two calls
  uint64_t start_ticks = 0;
  uint64_t start_ns = 0;
  uint64_t wall_ns = 0;
  double ns_per_tick = 0;

  void Pair() {
    uint64_t& slot = live[number % kLive];
    const uint64_t before = Ticks();
    api.release(slot);
    slot = api.allocate(SizeOf(number * 7));
    call_ticks[number] = static_cast<uint32_t>(Ticks() - before);
  }

  void Warm() {
    for (uint64_t& slot : live) slot = api.allocate(SizeOf(0));
    for (size_t n = 0; n < 4 * paths.size(); ++n) {
      number = n % count;
      Step();
    }
  }

  void Step() {
    const CallPath& path = paths[number * 31 % paths.size()];
    CallAlong(
        path, depth - changed, changed, [](void* self) { static_cast<PairLoop*>(self)->Pair(); },
        this);
  }

  void Loop() {
    Warm();
    start_ns = NowNs();
    start_ticks = Ticks();
    for (number = 0; number < count; ++number) {
      Step();
      if (pace_ticks == 0) continue;
      const uint64_t until = Ticks() + pace_ticks;
      while (Ticks() < until) {
      }
    }
    const uint64_t ticks = Ticks() - start_ticks;
    wall_ns = NowNs() - start_ns;
    ns_per_tick = static_cast<double>(wall_ns) / static_cast<double>(ticks);
    for (const uint64_t slot : live) api.release(slot);
  }
};

uint64_t TicksOf(uint64_t ns) {
  const uint64_t start_ns = NowNs();
  const uint64_t start = Ticks();
  while (NowNs() - start_ns < 2'000'000) {
  }
  return ns * (Ticks() - start) / 2'000'000;
}

int RunPairs(const MemoryApi& api, char** arguments) {
  PairLoop loop;
  loop.api = api;
  loop.count = strtoull(arguments[0], nullptr, 10);
  loop.depth = strtoull(arguments[1], nullptr, 10);
  loop.changed = strtoull(arguments[2], nullptr, 10);
  const size_t paths = strtoull(arguments[3], nullptr, 10);
  const uint64_t pace_ns = strtoull(arguments[4], nullptr, 10);
  if (loop.count == 0 || loop.changed == 0 || loop.depth < loop.changed || loop.depth > kMaxDepth ||
      paths == 0) {
    return 2;
  }
  loop.call_ticks.resize(loop.count);
  loop.paths = MakePaths(paths, loop.depth, loop.changed);
  loop.pace_ticks = pace_ns == 0 ? 0 : TicksOf(pace_ns);
  CallAlong(
      loop.paths[0], 0, loop.depth - loop.changed,
      [](void* self) { static_cast<PairLoop*>(self)->Loop(); }, &loop);
  const auto count = static_cast<double>(loop.count);
  const double sum = std::accumulate(loop.call_ticks.begin(), loop.call_ticks.end(), 0.0);
  // The mean of the middle half: the clock's own steps are too coarse for a median.
  std::sort(loop.call_ticks.begin(), loop.call_ticks.end());
  const auto quarter = static_cast<ptrdiff_t>(loop.count / 4);
  const double middle =
      std::accumulate(loop.call_ticks.begin() + quarter, loop.call_ticks.end() - quarter, 0.0);
  const auto middle_count = static_cast<double>(loop.count - 2 * (loop.count / 4));
  std::printf("{\"pairs\":%zu,\"call_ns\":%.2f,\"call_middle_ns\":%.2f,\"wall_ns\":%.2f}\n",
              loop.count, sum * loop.ns_per_tick / count, middle * loop.ns_per_tick / middle_count,
              static_cast<double>(loop.wall_ns) / count);
  return 0;
}

// Steps of a training loop: each allocates activations on the way forward, frees them in reverse on
// the way back among short-lived gradients and workspaces. A stack for each layer and purpose.
class TrainLoop {
 public:
  TrainLoop(const MemoryApi& api, size_t events)
      : api_(api), events_(events), paths_(MakePaths(kStacks, kDepth, kChanged)) {}

  size_t Run() {
    for (size_t layer = 0; layer < kLayers; ++layer) {
      for (int tensor = 0; tensor < 3; ++tensor) parameters_.push_back(Allocate(layer, 0, 1 << 20));
    }
    while (done_ + parameters_.size() < events_) TrainStep();
    for (const uint64_t parameter : parameters_) Release(parameter);
    return done_;
  }

 private:
  static constexpr size_t kLayers = 48;
  static constexpr size_t kPurposes = 6;
  static constexpr size_t kStacks = kLayers * kPurposes;
  static constexpr size_t kDepth = 24;
  static constexpr size_t kChanged = 8;

  struct Request {
    TrainLoop* self;
    size_t bytes;
    uint64_t address;
  };

  uint64_t Allocate(size_t layer, size_t purpose, size_t bytes) {
    Request request{this, bytes, 0};
    CallAlong(
        paths_[layer * kPurposes + purpose], 0, kDepth,
        [](void* argument) {
          auto* r = static_cast<Request*>(argument);
          r->address = r->self->api_.allocate(r->bytes);
        },
        &request);
    ++done_;
    return request.address;
  }

  void Release(uint64_t address) {
    api_.release(address);
    ++done_;
  }

  void TrainStep() {
    std::vector<uint64_t> activations;
    for (size_t layer = 0; layer < kLayers; ++layer) {
      const size_t width = 512 * (8 + layer % 5);
      activations.push_back(Allocate(layer, 1, width * 16));
      const uint64_t workspace = Allocate(layer, 2, width * 64);
      activations.push_back(Allocate(layer, 3, width * 4));
      Release(workspace);
    }
    for (size_t layer = kLayers; layer-- > 0;) {
      const uint64_t gradient = Allocate(layer, 4, 512 * (8 + layer % 5) * 16);
      const uint64_t workspace = Allocate(layer, 5, 512 * 64);
      Release(workspace);
      for (int tensor = 0; tensor < 2; ++tensor) {
        Release(activations.back());
        activations.pop_back();
      }
      Release(gradient);
    }
  }

  MemoryApi api_;
  const size_t events_;
  const std::vector<CallPath> paths_;
  std::vector<uint64_t> parameters_;
  size_t done_ = 0;
};

int RunTrain(const MemoryApi& api, char** arguments) {
  const size_t events = strtoull(arguments[0], nullptr, 10);
  const uint64_t start = NowNs();
  const size_t done = TrainLoop(api, events).Run();
  std::printf(
      "{\"events\":%zu,\"wall_ns\":%.2f}\n", done,
      static_cast<double>(NowNs() - start) / static_cast<double>(std::max<size_t>(done, 1)));
  return 0;
}

int Usage() {
  std::fprintf(stderr,
               "usage: bench_allocations host|device pairs COUNT DEPTH CHANGED PATHS PACE_NS\n"
               "       bench_allocations host|device train EVENTS\n");
  return 2;
}

}  // namespace
}  // namespace gputrace::bench

int main(int argc, char** argv) {
  using namespace gputrace::bench;
  if (argc < 4) return Usage();
  const std::string_view kind = argv[1];
  const std::string_view pattern = argv[2];
  if (kind != "host" && kind != "device") return Usage();
  const MemoryApi api = kind == "host" ? HostMemory() : DeviceMemory();
  if (pattern == "pairs" && argc == 8) return RunPairs(api, argv + 3);
  if (pattern == "train" && argc == 4) return RunTrain(api, argv + 3);
  return Usage();
}

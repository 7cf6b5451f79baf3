// SPDX-License-Identifier: Apache-2.0
#include "tests/truth/generator.h"

#include <algorithm>
#include <string>

#include "tests/truth/operations.h"

namespace gputrace::truth {
namespace {

// SplitMix64: the standard library's distributions differ between implementations.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15 + 1) {}
  uint64_t Below(uint64_t bound) { return Next() % bound; }
  bool OneIn(uint64_t n) { return Below(n) == 0; }
  uint64_t Next() {
    uint64_t x = (state_ += 0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }

 private:
  uint64_t state_;
};

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {
    program_.threads = static_cast<uint32_t>(1 + random_.Below(4));
    full_.resize(program_.threads * size_t{kSlots} * kTypes);
    ends_.resize(program_.threads);
    ChooseEnvironment(seed);
    for (const Operation& operation : Operations()) {
      // Each program has its own favourites.
      const uint64_t factor = random_.OneIn(4) ? 6 : 1 + random_.Below(2);
      weights_.push_back(operation.weight * factor);
    }
  }

  Program Make(uint64_t steps) {
    while (steps > 0) {
      const uint64_t count = std::min(steps, 50 + random_.Below(1500));
      MakePhase(program_.threads > 1 && !random_.OneIn(3), count);
      steps -= count;
    }
    return std::move(program_);
  }

 private:
  struct CaptureEnd {
    uint64_t stream = 0;
    uint64_t left = 0;  // steps of the thread until it comes; 0: there is none to come
  };

  void ChooseEnvironment(uint64_t seed) {
    const auto set = [this](const char* name, const std::string& value) {
      program_.environment.emplace_back(name, value);
    };
    set("GPUSIM_MEMORY", random_.OneIn(2) ? "2GiB,3GiB" : "8GiB,6GiB");
    set("GPUSIM_SEED", std::to_string(seed));
    if (random_.OneIn(2)) return;
    std::string failures = "cuMemAlloc_v2:p0.02=2";
    for (const char* symbol :
         {"cuMemFree_v2", "cuMemFreeAsync", "cuMemFreeHost", "cuMemRelease", "cuMemUnmap",
          "cuMemMap", "cuMemAllocAsync", "cuMemHostUnregister", "cuArrayDestroy", "cuCtxDestroy_v2",
          "cuStreamDestroy_v2", "cuMemPoolDestroy", "cuMemAddressFree", "cuMemCreate",
          "cuModuleUnload"}) {
      failures += "," + std::string(symbol) + ":p0.03=700";
    }
    set("GPUSIM_FAIL", failures);
  }

  void MakePhase(bool parallel, uint64_t count) {
    program_.phases.push_back({parallel, {}});
    steps_ = &program_.phases.back().steps;
    parallel_ = parallel;
    uint32_t thread = 0;
    for (uint64_t i = 0; i < count; ++i) {
      if (parallel || random_.OneIn(12)) {
        thread = static_cast<uint32_t>(random_.Below(program_.threads));
      }
      MakeStep(thread);
    }
    // A capture must end in the thread in which it began, and those are new in each phase.
    for (uint32_t t = 0; t < program_.threads; ++t) {
      if (ends_[t].left > 0) EndCapture(t);
    }
    if (!parallel && random_.OneIn(4)) Emit(0, Named("Fork"));
  }

  void MakeStep(uint32_t thread) {
    CaptureEnd& end = ends_[thread];
    if (end.left > 0 && --end.left == 0) return EndCapture(thread);
    const uint16_t operation = ChooseFor(thread);
    if (operation == Named("BeginCapture") && end.left > 0) return;
    const Step& step = Emit(thread, operation);
    if (operation == Named("BeginCapture")) end = {step.arguments[0], 1 + random_.Below(10)};
  }

  void EndCapture(uint32_t thread) {
    Step& step = Emit(thread, Named("EndCapture"));
    step.arguments[1] = ends_[thread].stream;
    ends_[thread].left = 0;
  }

  // Mostly something that can be done: nothing to free and no room for more are seldom interesting.
  uint16_t ChooseFor(uint32_t thread) {
    uint16_t operation = Choose();
    while (!IsSensible(thread, operation) && !random_.OneIn(30)) operation = Choose();
    return operation;
  }
  bool IsSensible(uint32_t thread, uint16_t operation) const {
    for (const Argument& argument : Operations()[operation].arguments) {
      if (!argument.is_slot()) continue;
      const bool wanted = argument.kind != Argument::Kind::kNew;
      bool found = false;
      for (uint32_t i = 0; i < SlotsOf(argument.type) && !found; ++i) {
        found = full_[Position(argument.type, thread * uint64_t{kSlots} + i)] == wanted;
      }
      if (!found) return false;
    }
    return true;
  }

  // Contexts take much of a card.
  static uint32_t SlotsOf(Type type) {
    return type == Type::kContext || type == Type::kGreen ? 3 : kSlots;
  }
  size_t Position(Type type, uint64_t slot) const {
    return static_cast<size_t>(type) * kSlots * program_.threads + slot;
  }

  uint16_t Choose() {
    uint64_t sum = 0;
    for (size_t i = 0; i < weights_.size(); ++i) sum += Allowed(i) ? weights_[i] : 0;
    uint64_t at = random_.Below(sum);
    for (size_t i = 0; i < weights_.size(); ++i) {
      const uint64_t weight = Allowed(i) ? weights_[i] : 0;
      if (at < weight) return static_cast<uint16_t>(i);
      at -= weight;
    }
    return 0;
  }
  bool Allowed(size_t operation) const {
    return !parallel_ || Operations()[operation].when == When::kAnytime;
  }
  static uint16_t Named(const char* name) {
    uint16_t position = 0;
    FindOperation(name, &position);
    return position;
  }

  Step& Emit(uint32_t thread, uint16_t operation) {
    Step& step = steps_->emplace_back();
    step.thread = thread;
    step.operation = operation;
    const std::vector<Argument>& arguments = Operations()[operation].arguments;
    for (size_t i = 0; i < arguments.size(); ++i) {
      step.arguments[i] = ChooseArgument(thread, arguments[i]);
    }
    return step;
  }

  uint64_t ChooseArgument(uint32_t thread, const Argument& argument) {
    switch (argument.kind) {
      case Argument::Kind::kNumber:
        return random_.Below(argument.bound);
      case Argument::Kind::kSize:
        return ChooseSize();
      case Argument::Kind::kGranules:
        return random_.OneIn(20) ? 4096 : (1 + random_.Below(4)) << 21;
      case Argument::Kind::kNew:
        return ChooseSlot(thread, argument);
      case Argument::Kind::kUse:
      case Argument::Kind::kTake:
        return ChooseSlot(Owner(thread), argument);
    }
    return 0;
  }
  // In serial phases threads also use and free what others have made.
  uint32_t Owner(uint32_t thread) {
    if (parallel_ || !random_.OneIn(4)) return thread;
    return static_cast<uint32_t>(random_.Below(program_.threads));
  }

  uint64_t ChooseSize() {
    const uint64_t magnitude = random_.Below(100);
    if (magnitude < 60) return 1 + random_.Below(5000);
    if (magnitude < 85) return 1 + random_.Below(300000);
    if (magnitude < 99) return 1 + random_.Below(8 << 20);
    return 1 + random_.Below(uint64_t{1} << 30);
  }

  // A slot that is full (or empty) as far as can be said before the calls are made; in one of a
  // hundred cases any.
  uint64_t ChooseSlot(uint32_t thread, const Argument& argument) {
    const bool full = argument.kind != Argument::Kind::kNew;
    const uint64_t first = thread * uint64_t{kSlots};
    const uint32_t slots = SlotsOf(argument.type);
    uint64_t slot = first + random_.Below(slots);
    for (uint32_t i = 0; i < slots && full_[Position(argument.type, slot)] != full; ++i) {
      if (random_.OneIn(100)) break;
      slot = first + (slot - first + 1) % slots;
    }
    if (argument.kind != Argument::Kind::kUse) full_[Position(argument.type, slot)] = !full;
    return slot;
  }

  Random random_;
  Program program_;
  std::vector<uint64_t> weights_;
  std::vector<bool> full_;  // by type and slot
  std::vector<CaptureEnd> ends_;
  std::vector<Step>* steps_ = nullptr;
  bool parallel_ = false;
};

}  // namespace

Program Generate(uint64_t seed, uint64_t steps) { return Generator(seed).Make(steps); }

}  // namespace gputrace::truth

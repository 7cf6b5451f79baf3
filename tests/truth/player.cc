// SPDX-License-Identifier: Apache-2.0
#include "tests/truth/player.h"

#include <cstdio>
#include <cstdlib>
#include <semaphore>
#include <thread>

namespace gputrace::truth {
namespace {

constexpr size_t kHostPageBytes = 4096;

void Check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  fprintf(stderr, "truth_play: %s: %d\n", what, static_cast<int>(result));
  exit(2);
}

}  // namespace

Player::Player(const Program& program) : program_(program) {
  for (const auto& [name, value] : program.environment) setenv(name.c_str(), value.c_str(), 1);
  for (auto& slots : slots_) slots.resize(size_t{kSlots} * program.threads);
  host_pages_.resize(kHostPages * kHostPageBytes);
}

void Player::Play() {
  if (NeedsPeer()) peer_ = std::make_unique<Peer>();
  Check(cuInit(0), "cuInit");
  Check(cuDeviceGetCount(&devices_), "cuDeviceGetCount");
  primaries_.resize(static_cast<size_t>(devices_));
  for (const Phase& phase : program_.phases) {
    PlayPhase(phase);
    MarkQuietPoint();
  }
  peer_.reset();
}

void Player::FreeSome() {
  if (primaries_.empty()) return;
  cuCtxSetCurrent(primaries_[0]);
  for (const Slot& slot : slots_[static_cast<size_t>(Type::kLinear)]) cuMemFree_v2(slot.value);
  for (const Slot& slot : slots_[static_cast<size_t>(Type::kPhysical)]) cuMemRelease(slot.value);
  for (int device = 0; device < devices_; ++device) cuDevicePrimaryCtxRelease_v2(device);
}

bool Player::NeedsPeer() const {
  uint16_t turn = 0;
  FindOperation(kPeersTurn, &turn);
  for (const Phase& phase : program_.phases) {
    for (const Step& step : phase.steps) {
      if (step.operation == turn) return true;
    }
  }
  return false;
}

void Player::PlayPhase(const Phase& phase) {
  RetainPrimaries();
  if (phase.parallel) {
    PlayParallel(phase);
  } else {
    PlaySerial(phase);
  }
}

// Threads are new in each phase, so that none has a context on its stack that is gone: its handle
// may by then be that of a context of another thread's.
void Player::PlayParallel(const Phase& phase) {
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < program_.threads; ++i) {
    threads.emplace_back([this, i, &phase] {
      BeginThread(i);
      for (const Step& step : phase.steps) {
        if (step.thread != i) continue;
        Turn turn(this, step);
        Operations()[step.operation].play(turn);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

void Player::PlaySerial(const Phase& phase) {
  std::vector<std::unique_ptr<std::binary_semaphore>> turns;
  std::vector<std::thread> threads;
  std::binary_semaphore done(0);
  size_t position = 0;
  for (uint32_t i = 0; i < program_.threads; ++i) {
    turns.push_back(std::make_unique<std::binary_semaphore>(0));
    threads.emplace_back([this, i, &phase, &position, &done, turn = turns.back().get()] {
      turn->acquire();
      BeginThread(i);
      for (;;) {
        done.release();
        turn->acquire();
        if (position == phase.steps.size()) return;
        for (; position < phase.steps.size() && phase.steps[position].thread == i; ++position) {
          Turn played(this, phase.steps[position]);
          Operations()[phase.steps[position].operation].play(played);
        }
      }
    });
    turns.back()->release();
    done.acquire();
  }
  while (position < phase.steps.size()) {
    turns[phase.steps[position].thread]->release();
    done.acquire();
  }
  for (const auto& turn : turns) turn->release();
  for (std::thread& thread : threads) thread.join();
}

void Player::BeginThread(uint32_t thread) { cuCtxSetCurrent(primary(thread)); }

// Other phases may have released and reset them. On a card that is full it is impossible.
void Player::RetainPrimaries() {
  for (int device = 0; device < devices_; ++device) {
    cuDevicePrimaryCtxRetain(&primaries_[static_cast<size_t>(device)], device);
  }
}

void Player::MarkQuietPoint() {
  const uint64_t size = kMarkBase + kMarkStep * marks_++;
  CUdeviceptr address = 0;
  Check(cuMemAddressReserve(&address, size, 0, 0, 0), "mark");
  for (const Slot& pool : slots_[static_cast<size_t>(Type::kPool)]) {
    cuuint64_t used = 0;
    if (pool.value == 0) continue;
    cuMemPoolGetAttribute(reinterpret_cast<CUmemoryPool>(pool.value),
                          CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used);
  }
  // The program may have failures made.
  while (cuMemAddressFree(address, size) != CUDA_SUCCESS) {
  }
}

void Player::NoteFreed(Type type, uint64_t value) {
  if (value == 0) return;
  const std::lock_guard lock(stale_mutex_);
  const auto t = static_cast<size_t>(type);
  stale_[t][next_stale_[t]++ % kStale] = value;
}

void Player::ForgetContext(CUcontext context) {
  for (size_t type = 0; type < kTypes; ++type) {
    for (Slot& slot : slots_[type]) {
      if (slot.value == 0 || slot.context != context) continue;
      NoteFreed(static_cast<Type>(type), slot.value);
      slot = {};
    }
  }
}

void Player::ForgetValue(uint64_t value) {
  for (auto& slots : slots_) {
    for (Slot& slot : slots) {
      if (slot.value == value) slot = {};
    }
  }
}

void Player::ForgetMappings(uint64_t address, uint64_t size) {
  for (Slot& slot : slots_[static_cast<size_t>(Type::kMapping)]) {
    if (slot.value >= address && slot.value - address < size) slot = {};
  }
}

void* Player::HostPage(uint64_t which) {
  return host_pages_.data() + which % kHostPages * kHostPageBytes;
}

}  // namespace gputrace::truth

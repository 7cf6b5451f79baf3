// SPDX-License-Identifier: Apache-2.0
// Plays programs: a client of the driver like any other, that does not know it is being traced.
#ifndef GPUTRACE_TESTS_TRUTH_PLAYER_H_
#define GPUTRACE_TESTS_TRUTH_PLAYER_H_

// All of the driver's functions under their own names: without it the header renames them.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "tests/truth/marks.h"
#include "tests/truth/operations.h"
#include "tests/truth/peer.h"

namespace gputrace::truth {

struct Slot {
  uint64_t value = 0;  // address or handle; 0: empty
  uint64_t size = 0;
  CUcontext context = nullptr;  // with which it ends; null: with none
};

class Player {
 public:
  explicit Player(const Program& program);
  void Play();
  // Frees some of what is left: for the end of the process, past its exit handlers.
  void FreeSome();

  Slot& At(Type type, uint64_t slot) {
    auto& slots = slots_[static_cast<size_t>(type)];
    return slots[slot % slots.size()];
  }
  // An address or handle that was once freed; 0 if none was.
  uint64_t Stale(Type type, uint64_t which) const {
    return stale_[static_cast<size_t>(type)][which % kStale];
  }
  void NoteFreed(Type type, uint64_t value);
  // Empties the slots of what ended with a context.
  void ForgetContext(CUcontext context);
  // Empties the slots of what was freed through an old copy of its address or handle, which would
  // soon be those of something else: for a program's threads to free that would be a race.
  void ForgetValue(uint64_t value);
  void ForgetMappings(uint64_t address, uint64_t size);

  int devices() const { return devices_; }
  CUcontext primary(uint64_t device) const { return primaries_[device % primaries_.size()]; }
  Peer& peer() { return *peer_; }
  // Host memory that programs register; never freed.
  void* HostPage(uint64_t which);

 private:
  static constexpr size_t kStale = 8;
  static constexpr size_t kHostPages = 64;

  void PlayPhase(const Phase& phase);
  void PlayParallel(const Phase& phase);
  void PlaySerial(const Phase& phase);
  void BeginThread(uint32_t thread);
  void RetainPrimaries();
  void MarkQuietPoint();

  bool NeedsPeer() const;

  const Program& program_;
  std::unique_ptr<Peer> peer_;
  int devices_ = 0;
  std::vector<CUcontext> primaries_;
  std::array<std::vector<Slot>, kTypes> slots_;
  std::array<std::array<uint64_t, kStale>, kTypes> stale_{};
  std::array<size_t, kTypes> next_stale_{};
  std::mutex stale_mutex_;
  std::vector<char> host_pages_;
  uint64_t marks_ = 0;
};

// One operation being played by the thread whose turn it is.
class Turn {
 public:
  Turn(Player* its_player, const Step& step) : player(*its_player), step_(step) {}

  uint64_t number(size_t i) const { return step_.arguments[i]; }
  // The slot that argument `i` names.
  Slot& slot(size_t i) const {
    return player.At(Operations()[step_.operation].arguments[i].type, step_.arguments[i]);
  }
  template <typename Handle>
  Handle as(size_t i) const {
    return reinterpret_cast<Handle>(slot(i).value);
  }
  uint64_t value(size_t i) const { return slot(i).value; }

  // Fills the slot of argument `i` with what a call has made, nothing if it failed. By reference,
  // for the call may be in the same expression.
  template <typename Handle>
  void Fill(size_t i, CUresult result, const Handle& made, uint64_t size = 0) {
    Slot& filled = slot(i);
    filled = {};
    if (result != CUDA_SUCCESS) return;
    filled.value = (uint64_t)made;  // NOLINT: a pointer or a number
    filled.size = size;
  }
  // The same for what ends with the current context.
  template <typename Handle>
  void FillInContext(size_t i, CUresult result, const Handle& made, uint64_t size = 0) {
    Fill(i, result, made, size);
    cuCtxGetCurrent(&slot(i).context);
  }
  // After a call that ended what the slot of argument `i` holds. One that was refused leaves it
  // alive, and the slot is forgotten all the same: a leak.
  void Empty(size_t i) {
    player.NoteFreed(Operations()[step_.operation].arguments[i].type, slot(i).value);
    slot(i) = {};
  }

  Player& player;

 private:
  const Step& step_;
};

}  // namespace gputrace::truth

#endif  // GPUTRACE_TESTS_TRUTH_PLAYER_H_

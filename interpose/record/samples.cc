// SPDX-License-Identifier: Apache-2.0
#include "interpose/record/samples.h"

#include <cuda.h>

#include <cerrno>

#include "interpose/record/recorder.h"
#include "interpose/record/session.h"
#include "interpose/resolve/driver.h"

namespace gputrace::interpose {
namespace {

using trace::SampleOperand;
using trace::SampleSource;

constexpr uint64_t kShareOfTime = 50;
constexpr uint64_t kPerSecond = 100;  // samples of pools and graphs

class ErrnoKeeper {
 public:
  ErrnoKeeper() : saved_(errno) {}
  ~ErrnoKeeper() { errno = saved_; }
  ErrnoKeeper(const ErrnoKeeper&) = delete;
  ErrnoKeeper& operator=(const ErrnoKeeper&) = delete;

 private:
  const int saved_;
};

// The session, unless it must not be sampled.
Session* SessionOutsideCapture() {
  const ThreadState* state = t_thread.state;
  if (state == nullptr || state->session->captures.load(std::memory_order_relaxed) > 0) {
    return nullptr;
  }
  return state->session;
}

// The same after a call, if the time has come. The call's record has just been stamped: that is
// near enough to save reading the clock.
Session* SessionToSample(const std::atomic<uint64_t> Session::*not_before) {
  Session* session = SessionOutsideCapture();
  if (session == nullptr) return nullptr;
  const uint64_t due = (session->*not_before).load(std::memory_order_relaxed);
  return t_thread.state->last_ticks < due ? nullptr : session;
}

void Record(uint16_t entry, SampleSource source, CUdevice device, uint64_t object,
            const uint64_t (&values)[4]) {
  uint64_t operands[static_cast<size_t>(SampleOperand::kCountOf)];
  operands[static_cast<size_t>(SampleOperand::kSource)] = static_cast<uint64_t>(source);
  operands[static_cast<size_t>(SampleOperand::kDevice)] = static_cast<uint64_t>(device);
  operands[static_cast<size_t>(SampleOperand::kObject)] = object;
  for (size_t i = 0; i < 4; ++i) {
    operands[static_cast<size_t>(SampleOperand::kValue0) + i] = values[i];
  }
  RecordSample(entry, operands, static_cast<uint32_t>(SampleOperand::kCountOf));
}

bool RecordDeviceMemory(uint16_t entry) {
  CUdevice device = 0;
  size_t free = 0;
  size_t total = 0;
  if (driver().mem_get_info == nullptr || !CurrentDevice(&device) ||
      driver().mem_get_info(&free, &total) != CUDA_SUCCESS) {
    return false;
  }
  Record(entry, SampleSource::kMemGetInfo, device, 0, {free, total, 0, 0});
  return true;
}

void WaitATick(Session* session, std::atomic<uint64_t> Session::*not_before) {
  (session->*not_before)
      .store(ReadTicks(session->clock) + session->ticks_per_second / kPerSecond,
             std::memory_order_relaxed);
}

}  // namespace

MemorySample::MemorySample(uint16_t entry) : entry_(entry), taken_(false) {
  const Session* session = SessionOutsideCapture();
  if (session == nullptr ||
      ReadTicks(session->clock) < session->device_sample_at.load(std::memory_order_relaxed)) {
    return;
  }
  const ErrnoKeeper keeper;
  // With nothing to compare it with, the other one stands for itself.
  if (!RecordDeviceMemory(0)) entry_ = 0;
  taken_ = true;
}

void MemorySample::After() {
  if (!taken_) return;
  Session* session = t_thread.state->session;
  const ErrnoKeeper keeper;
  const uint64_t begin = ReadTicks(session->clock);
  if (!RecordDeviceMemory(entry_)) return;
  const uint64_t end = ReadTicks(session->clock);
  // Twice: the one before took as long.
  session->device_sample_at.store(end + 2 * kShareOfTime * (end - begin),
                                  std::memory_order_relaxed);
}

void SampleFirst() {
  Session* session = SessionOutsideCapture();
  if (session == nullptr || session->device_sample_at.load(std::memory_order_relaxed) != 0) return;
  const ErrnoKeeper keeper;
  if (!RecordDeviceMemory(0)) return;
  session->device_sample_at.store(ReadTicks(session->clock), std::memory_order_relaxed);
}

void SamplePool(uint64_t pool) {
  Session* session = SessionToSample(&Session::pool_sample_at);
  if (session == nullptr || driver().mem_pool_get_attribute == nullptr) return;
  const ErrnoKeeper keeper;
  WaitATick(session, &Session::pool_sample_at);
  CUdevice device = 0;
  auto handle = reinterpret_cast<CUmemoryPool>(pool);
  if (!CurrentDevice(&device)) return;
  if (handle == nullptr && (driver().device_get_mem_pool == nullptr ||
                            driver().device_get_mem_pool(&handle, device) != CUDA_SUCCESS)) {
    return;
  }
  constexpr CUmemPool_attribute kAttributes[] = {
      CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH,
      CU_MEMPOOL_ATTR_USED_MEM_CURRENT, CU_MEMPOOL_ATTR_USED_MEM_HIGH};
  uint64_t values[4] = {};
  for (size_t i = 0; i < 4; ++i) {
    if (driver().mem_pool_get_attribute(handle, kAttributes[i], &values[i]) != CUDA_SUCCESS) return;
  }
  Record(0, SampleSource::kPool, device, reinterpret_cast<uint64_t>(handle), values);
}

void SampleGraphMemory() {
  Session* session = SessionToSample(&Session::graph_sample_at);
  if (session == nullptr || driver().device_get_graph_mem_attribute == nullptr) return;
  const ErrnoKeeper keeper;
  WaitATick(session, &Session::graph_sample_at);
  CUdevice device = 0;
  if (!CurrentDevice(&device)) return;
  constexpr CUgraphMem_attribute kAttributes[] = {
      CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH,
      CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH};
  uint64_t values[4] = {};
  for (size_t i = 0; i < 4; ++i) {
    if (driver().device_get_graph_mem_attribute(device, kAttributes[i], &values[i]) !=
        CUDA_SUCCESS) {
      return;
    }
  }
  Record(0, SampleSource::kGraphMemory, device, 0, values);
}

}  // namespace gputrace::interpose

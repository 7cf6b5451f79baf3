// SPDX-License-Identifier: Apache-2.0
// Pools, and what the driver says of itself.
#include <optional>

#include "analyzer/ledger/ledger.h"

namespace gputrace::ledger {

using trace::Record;
using trace::Role;
using trace::SampleOperand;
using trace::SampleSource;

namespace {

// Values of CUmemLocationType, CUmemAllocationType, CUmemPool_attribute and CUgraphMem_attribute
// (cuda.h).
constexpr uint64_t kLocationDevice = 1;
constexpr uint64_t kAllocationManaged = 2;
constexpr uint64_t kPoolReserved = 5;
constexpr uint64_t kPoolUsed = 7;
constexpr uint64_t kGraphUsed = 0;
constexpr uint64_t kGraphReserved = 2;

}  // namespace

bool Ledger::DeviceOfLocation(const Operands& operands, int32_t* device) const {
  uint64_t type = 0;
  uint64_t id = 0;
  if (!operands.In(Role::kLocationType, &type)) return false;
  operands.In(Role::kLocation, &id);
  *device = type == kLocationDevice ? DeviceOfOrdinal(id) : kHost;
  return true;
}

void Ledger::OpenPool(const Operands& operands, uint64_t pool) {
  PoolState& state = pools_[pool];
  state.located = DeviceOfLocation(operands, &state.device);
  // Of managed memory nobody knows where it is.
  if (operands.InOr(Role::kAttribute, 0) == kAllocationManaged) state.device = kHost;
}

// A device whose current pool is destroyed goes back to its default pool (header).
void Ledger::ForgetPool(uint64_t pool, Pending* log) {
  for (auto current = current_pools_.begin(); current != current_pools_.end();) {
    const auto next = std::next(current);
    if (current->second == pool) {
      if (log != nullptr) {
        Undo& undo = log->undo.emplace_back();
        undo.kind = Undo::Kind::kCurrentPool;
        undo.allocation.device = current->first;
        undo.allocation.pool = pool;
      }
      current_pools_.erase(current);
    }
    current = next;
  }
}

void Ledger::LearnPool(const Step&, const Operands& operands) {
  uint64_t pool = 0;
  uint64_t ordinal = 0;
  int32_t device = kHost;
  const bool is_answer = operands.Out(Role::kPool, &pool);
  if (!is_answer && !operands.In(Role::kPool, &pool)) return;
  if (operands.In(Role::kDevice, &ordinal)) {
    device = DeviceOfOrdinal(ordinal);
  } else if (!DeviceOfLocation(operands, &device)) {
    return;  // sets something else of the pool
  }
  if (is_answer) {
    pools_.try_emplace(pool, PoolState{device, true});
  } else {
    current_pools_[device] = pool;
  }
}

void Ledger::SamplePool(const Operands& operands, const Record& record) {
  uint64_t attribute = 0;
  uint64_t value = 0;
  Sample sample;
  if (!operands.In(Role::kPool, &sample.object) || !operands.In(Role::kAttribute, &attribute) ||
      !operands.Out(Role::kValue, &value)) {
    return;
  }
  if (attribute == kPoolReserved) {
    sample.first = value;
  } else if (attribute == kPoolUsed) {
    sample.second = value;
  } else {
    return;
  }
  const auto known = pools_.find(sample.object);
  sample.kind = SampleKind::kPool;
  sample.device = known != pools_.end() && known->second.located ? known->second.device
                                                                 : DeviceOfRecord(record);
  sample.process = process_.process;
  sample.time_ns = record.time_ns;
  ForObservers([&](Observer* observer) { observer->OnSample(sample); });
}

void Ledger::SampleDevice(const Operands& operands, const Record& record) {
  Sample sample;
  // The program may have passed NULL for either, which reads as 0 bytes.
  if (!operands.NthOut(0, &sample.first) || !operands.NthOut(1, &sample.second) ||
      sample.first == 0 || sample.second == 0 || sample.first > sample.second) {
    return;
  }
  sample.kind = SampleKind::kDeviceMemory;
  sample.device = DeviceOfRecord(record);
  sample.process = process_.process;
  sample.time_ns = record.time_ns;
  ForObservers([&](Observer* observer) { observer->OnSample(sample); });
}

void Ledger::SampleGraph(const Operands& operands, const Record& record) {
  uint64_t ordinal = 0;
  uint64_t attribute = 0;
  uint64_t value = 0;
  if (!operands.In(Role::kDevice, &ordinal) || !operands.In(Role::kAttribute, &attribute) ||
      !operands.Out(Role::kValue, &value)) {
    return;
  }
  Sample sample;
  if (attribute == kGraphReserved) {
    sample.first = value;
  } else if (attribute == kGraphUsed) {
    sample.second = value;
  } else {
    return;
  }
  sample.kind = SampleKind::kGraphMemory;
  sample.device = DeviceOfOrdinal(ordinal);
  sample.process = process_.process;
  sample.time_ns = record.time_ns;
  ForObservers([&](Observer* observer) { observer->OnSample(sample); });
}

void Ledger::ApplySampleRecord(const Record& record) {
  const auto operand = [&](SampleOperand position) {
    const auto i = static_cast<size_t>(position);
    return i < record.operands.size() ? record.operands[i] : uint64_t{0};
  };
  Sample sample;
  sample.process = process_.process;
  sample.time_ns = record.time_ns;
  sample.thread = record.thread;
  sample.device = DeviceOfOrdinal(operand(SampleOperand::kDevice));
  sample.object = operand(SampleOperand::kObject);
  sample.first = operand(SampleOperand::kValue0);
  switch (static_cast<SampleSource>(operand(SampleOperand::kSource))) {
    case SampleSource::kMemGetInfo:
      sample.kind = SampleKind::kDeviceMemory;
      sample.second = operand(SampleOperand::kValue1);
      if (sample.first > sample.second) return;
      sample.causes = PlanOf(record.entry).kinds;
      break;
    case SampleSource::kPool:
      sample.kind = SampleKind::kPool;
      sample.second = operand(SampleOperand::kValue2);
      break;
    case SampleSource::kGraphMemory:
      sample.kind = SampleKind::kGraphMemory;
      sample.second = operand(SampleOperand::kValue2);
      break;
    default:
      return;
  }
  ForObservers([&](Observer* observer) { observer->OnSample(sample); });
}

}  // namespace gputrace::ledger

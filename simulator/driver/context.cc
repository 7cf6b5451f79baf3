// SPDX-License-Identifier: Apache-2.0
#include "simulator/driver/context.h"

#include <algorithm>
#include <vector>

#include "simulator/driver/array.h"
#include "simulator/driver/external_memory.h"
#include "simulator/driver/module.h"
#include "simulator/driver/pool.h"

namespace gputrace::sim {
namespace {

// What a context takes of its device: contexts of current cards take some hundred MiB; on small
// cards less here, so that they remain usable. Assumed.
constexpr uint64_t kMaxContextBytes = 256 * kMiB;
constexpr uint64_t kContextShare = 64;

uint64_t ContextBytes(const Device& device) {
  return std::min(kMaxContextBytes, device.total / kContextShare) / kGranularity * kGranularity;
}

// Leaked, since a thread may call the driver while its thread-local objects are being destroyed.
std::vector<CUcontext>& Stack() {
  thread_local constinit std::vector<CUcontext>* stack = nullptr;
  if (stack == nullptr) stack = new std::vector<CUcontext>;
  return *stack;
}

template <typename Table>
void RemoveOfContext(Table* table, const Context* context, const char* kind) {
  for (const auto& object : table->All()) {
    if (object->context != context) continue;
    const auto handle = Table::HandleOf(object.get());
    TheDriver().ledger.Remove(kind, HandleNumber(handle));
    table->Remove(handle);
  }
}

}  // namespace

void PushContext(CUcontext handle) { Stack().push_back(handle); }
int ContextDepth() { return static_cast<int>(Stack().size()); }
CUcontext TopContext() { return Stack().empty() ? nullptr : Stack().back(); }

CUcontext PopContext() {
  const CUcontext top = TopContext();
  if (!Stack().empty()) Stack().pop_back();
  return top;
}

void ReplaceTopContext(CUcontext handle) {
  PopContext();
  if (handle != nullptr) PushContext(handle);
}

CUresult CurrentContext(Context** context) {
  const CUcontext top = TopContext();
  if (top == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *context = TheDriver().contexts.Find(top).get();
  if (*context == nullptr || !(*context)->alive) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  return CUDA_SUCCESS;
}

CUresult FindContext(CUcontext handle, Context** context) {
  if (handle == nullptr) return CurrentContext(context);
  *context = TheDriver().contexts.Find(handle).get();
  if (*context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return (*context)->alive ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult Activate(Context* context) {
  Device& device = *TheDriver().devices[static_cast<size_t>(context->device)];
  const uint64_t bytes = ContextBytes(device);
  if (!device.Charge(bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  context->charged = bytes;
  context->alive = true;
  context->id = TheDriver().next_id++;
  context->device_heap =
      std::make_unique<SegmentHeap>(std::make_unique<DeviceSource>(context->device), kGranularity,
                                    SegmentHeap::LargeBlocks::kExclusive);
  context->host_heap = std::make_unique<SegmentHeap>(std::make_unique<HostSource>(), kGranularity,
                                                     SegmentHeap::LargeBlocks::kExclusive);
  context->legacy_stream = std::make_shared<Stream>();
  context->legacy_stream->context = context;
  context->legacy_stream->id = TheDriver().next_id++;
  // As a real card of compute capability 9.0 reports them; assumed.
  constexpr uint64_t kLimits[] = {1024, 1 * kMiB, 8 * kMiB, 2, 2048, 128};
  std::copy(std::begin(kLimits), std::end(kLimits), context->limits);
  TheDriver().ledger.Add({.kind = "context",
                          .size = bytes,
                          .device = context->device,
                          .context = reinterpret_cast<uint64_t>(context),
                          .handle = reinterpret_cast<uint64_t>(context)});
  return CUDA_SUCCESS;
}

void Deactivate(Context* context) {
  Driver& driver = TheDriver();
  SynchronizeContext(context);
  for (Allocation* allocation : driver.allocations.OfContext(context)) Release(allocation);
  DestroyArraysOf(context);
  UnloadModulesOf(context);
  DestroyExternalMemoryOf(context);
  RemoveOfContext(&driver.streams, context, "stream");
  RemoveOfContext(&driver.events, context, "event");
  context->per_thread_streams.clear();
  context->peers.clear();
  context->device_heap.reset();
  context->host_heap.reset();
  driver.devices[static_cast<size_t>(context->device)]->Discharge(context->charged);
  context->alive = false;
  context->references = 0;
  driver.ledger.Remove("context", reinterpret_cast<uint64_t>(context));
}

void SynchronizeContext(Context* context) {
  std::vector<Moment> moments = {Now(context->legacy_stream->timeline)};
  for (const auto& [thread, stream] : context->per_thread_streams) {
    moments.push_back(Now(stream->timeline));
  }
  for (const auto& stream : TheDriver().streams.All()) {
    if (stream->context == context) moments.push_back(Now(stream->timeline));
  }
  for (const Moment& moment : moments) Await(moment);
  SynchronizePools();
}

}  // namespace gputrace::sim

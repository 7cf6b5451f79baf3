// SPDX-License-Identifier: Apache-2.0
#include "simulator/driver/context.h"

#include <limits.h>
#include <pthread.h>

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

struct ThreadStack {
  std::vector<CUcontext> contexts;
  int rounds = 0;  // of destruction that it has outlived
};

thread_local constinit ThreadStack* t_stack = nullptr;

// A thread may call the driver while its thread-local objects are being destroyed, those of
// pthread_key_create too. So this is no such object with a destructor, and goes in the last round.
pthread_key_t StackKey() {
  static const pthread_key_t key = [] {
    pthread_key_t made = PTHREAD_KEYS_MAX;  // no key: what is set for it is refused
    pthread_key_create(&made, [](void* value) {
      auto* stack = static_cast<ThreadStack*>(value);
      if (++stack->rounds < PTHREAD_DESTRUCTOR_ITERATIONS) {
        pthread_setspecific(StackKey(), stack);
        return;
      }
      t_stack = nullptr;
      delete stack;
    });
    return made;
  }();
  return key;
}

std::vector<CUcontext>& Stack() {
  if (t_stack == nullptr) {
    t_stack = new ThreadStack;
    pthread_setspecific(StackKey(), t_stack);
  }
  return t_stack->contexts;
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

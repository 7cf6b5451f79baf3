// SPDX-License-Identifier: Apache-2.0
// Streams and events. Work is done when it is enqueued; what is delayed until a synchronisation is that
// memory freed in stream order becomes reusable.
#include "simulator/driver/state.h"

#include <set>

namespace gputrace::sim {
namespace {

std::set<Stream*>& Streams() {
  static auto* streams = new std::set<Stream*>;
  return *streams;
}
std::set<Event*>& Events() {
  static auto* events = new std::set<Event*>;
  return *events;
}

CUresult Create(CUstream* out, unsigned flags, int priority) {
  const Locked locked;
  Context* context = nullptr;
  if (const CUresult result = NeedContext(&context); result != CUDA_SUCCESS) return result;
  if (out == nullptr || flags > CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
  auto* stream = new Stream;
  stream->context = context;
  stream->flags = flags;
  stream->priority = priority;
  Streams().insert(stream);
  *out = reinterpret_cast<CUstream>(stream);
  return CUDA_SUCCESS;
}

CUresult NeedStream(CUstream handle, Stream** stream) {
  Context* context = nullptr;
  if (const CUresult result = NeedContext(&context); result != CUDA_SUCCESS) return result;
  bool valid = false;
  *stream = ToStream(handle, &valid);
  return valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult Destroy(CUstream handle) {
  const Locked locked;
  Stream* stream = nullptr;
  if (const CUresult result = NeedStream(handle, &stream); result != CUDA_SUCCESS) return result;
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  // What was enqueued is still done (header).
  SynchronizePools(stream);
  stream->alive = false;
  return CUDA_SUCCESS;
}

Event* ToEvent(CUevent handle) {
  auto* event = reinterpret_cast<Event*>(handle);
  return Events().count(event) != 0 && event->alive ? event : nullptr;
}

CUresult Record(CUevent handle, CUstream stream_handle) {
  const Locked locked;
  Stream* stream = nullptr;
  if (const CUresult result = NeedStream(stream_handle, &stream); result != CUDA_SUCCESS) return result;
  Event* event = ToEvent(handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  event->capture_id = stream == nullptr ? 0 : stream->capture_id;
  return CUDA_SUCCESS;
}

CUresult DestroyEvent(CUevent handle) {
  const Locked locked;
  Event* event = ToEvent(handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  event->alive = false;
  return CUDA_SUCCESS;
}

}  // namespace

Stream* ToStream(CUstream handle, bool* valid) {
  *valid = true;
  if (handle == nullptr || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD) return nullptr;
  auto* stream = reinterpret_cast<Stream*>(handle);
  *valid = Streams().count(stream) != 0 && stream->alive;
  return *valid ? stream : nullptr;
}

CUresult Sim_cuStreamCreate(CUstream* stream, unsigned int flags) { return Create(stream, flags, 0); }
CUresult Sim_cuStreamCreateWithPriority(CUstream* stream, unsigned int flags, int priority) {
  return Create(stream, flags, priority);
}
CUresult Sim_cuStreamDestroy_v2(CUstream stream) { return Destroy(stream); }
CUresult Sim_cuStreamDestroy(CUstream stream) { return Destroy(stream); }

CUresult Sim_cuStreamSynchronize(CUstream handle) {
  const Locked locked;
  Stream* stream = nullptr;
  if (const CUresult result = NeedStream(handle, &stream); result != CUDA_SUCCESS) return result;
  if (stream != nullptr && stream->capture_id != 0) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  SynchronizePools(stream);
  return CUDA_SUCCESS;
}
CUresult Sim_cuStreamQuery(CUstream handle) { return Sim_cuStreamSynchronize(handle); }

CUresult Sim_cuStreamGetFlags(CUstream handle, unsigned int* flags) {
  const Locked locked;
  Stream* stream = nullptr;
  if (const CUresult result = NeedStream(handle, &stream); result != CUDA_SUCCESS) return result;
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = stream == nullptr ? 0 : stream->flags;
  return CUDA_SUCCESS;
}

CUresult Sim_cuStreamGetPriority(CUstream handle, int* priority) {
  const Locked locked;
  Stream* stream = nullptr;
  if (const CUresult result = NeedStream(handle, &stream); result != CUDA_SUCCESS) return result;
  if (priority == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *priority = stream == nullptr ? 0 : stream->priority;
  return CUDA_SUCCESS;
}

CUresult Sim_cuStreamGetCtx(CUstream handle, CUcontext* context) {
  const Locked locked;
  Stream* stream = nullptr;
  if (const CUresult result = NeedStream(handle, &stream); result != CUDA_SUCCESS) return result;
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *context = reinterpret_cast<CUcontext>(stream == nullptr ? CurrentContext() : stream->context);
  return CUDA_SUCCESS;
}

CUresult Sim_cuStreamWaitEvent(CUstream handle, CUevent event_handle, unsigned int) {
  const Locked locked;
  Stream* stream = nullptr;
  if (const CUresult result = NeedStream(handle, &stream); result != CUDA_SUCCESS) return result;
  const Event* event = ToEvent(event_handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  // Waiting for an event of a capturing stream joins its capture (header).
  if (stream != nullptr && event->capture_id != 0) stream->capture_id = event->capture_id;
  return CUDA_SUCCESS;
}

CUresult Sim_cuEventCreate(CUevent* out, unsigned int) {
  const Locked locked;
  Context* context = nullptr;
  if (const CUresult result = NeedContext(&context); result != CUDA_SUCCESS) return result;
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto* event = new Event;
  event->context = context;
  Events().insert(event);
  *out = reinterpret_cast<CUevent>(event);
  return CUDA_SUCCESS;
}
CUresult Sim_cuEventDestroy_v2(CUevent event) { return DestroyEvent(event); }
CUresult Sim_cuEventDestroy(CUevent event) { return DestroyEvent(event); }
CUresult Sim_cuEventRecord(CUevent event, CUstream stream) { return Record(event, stream); }
CUresult Sim_cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned int) {
  return Record(event, stream);
}

CUresult Sim_cuEventSynchronize(CUevent handle) {
  const Locked locked;
  if (ToEvent(handle) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  SynchronizePools(nullptr);
  return CUDA_SUCCESS;
}
CUresult Sim_cuEventQuery(CUevent handle) { return Sim_cuEventSynchronize(handle); }

CUresult Sim_cuEventElapsedTime_v2(float* milliseconds, CUevent start, CUevent end) {
  const Locked locked;
  if (ToEvent(start) == nullptr || ToEvent(end) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (milliseconds == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *milliseconds = 0.001f;
  return CUDA_SUCCESS;
}
CUresult Sim_cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  return Sim_cuEventElapsedTime_v2(milliseconds, start, end);
}

CUresult Sim_cuLaunchHostFunc(CUstream handle, CUhostFn function, void* argument) {
  {
    const Locked locked;
    Stream* stream = nullptr;
    if (const CUresult result = NeedStream(handle, &stream); result != CUDA_SUCCESS) return result;
  }
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  function(argument);
  return CUDA_SUCCESS;
}

}  // namespace gputrace::sim

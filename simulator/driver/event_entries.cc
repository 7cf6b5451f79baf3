// SPDX-License-Identifier: Apache-2.0
// Events: moments on streams.
#include <time.h>

#include "bodies.h"
#include "simulator/driver/graph_capture.h"
#include "simulator/driver/pool.h"
#include "simulator/driver/stream.h"

namespace gputrace::sim {
namespace {

constexpr unsigned kEventFlags =
    CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;

int64_t NowNs() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

CUresult Destroy(CUevent handle) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(CurrentContext(&context));
  if (TheDriver().events.Find(handle) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  TheDriver().ledger.Remove("event", HandleNumber(handle));
  TheDriver().events.Remove(handle);
  return CUDA_SUCCESS;
}

CUresult Record(CUevent handle, CUstream stream_handle) {
  const Guard guard;
  std::shared_ptr<Stream> stream;
  GPUSIM_TRY(FindStream(stream_handle, &stream));
  const auto event = TheDriver().events.Find(handle);
  if (event == nullptr || event->context != stream->context) return CUDA_ERROR_INVALID_HANDLE;
  GPUSIM_TRY(CheckLegacyUse(*stream));
  if (stream->capturing.active()) {
    GPUSIM_TRY(CheckCapture(*stream));
    event->captured = stream->capturing;
    return CUDA_SUCCESS;
  }
  event->captured = {};
  SubmitOn(*stream, {});
  event->moment = Now(stream->timeline);
  event->recorded = true;
  event->time_ns = NowNs();
  return CUDA_SUCCESS;
}

CUresult Elapsed(float* milliseconds, CUevent start_handle, CUevent end_handle) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(CurrentContext(&context));
  const auto start = TheDriver().events.Find(start_handle);
  const auto end = TheDriver().events.Find(end_handle);
  if (milliseconds == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (start == nullptr || end == nullptr || !start->recorded || !end->recorded ||
      ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING) != 0) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  if (!Observe(start->moment) || !Observe(end->moment)) return CUDA_ERROR_NOT_READY;
  *milliseconds = static_cast<float>(end->time_ns - start->time_ns) * 1e-6F;
  return CUDA_SUCCESS;
}

// An event that the host may ask about; not one that is part of a capture.
CUresult FindForHost(CUevent handle, std::shared_ptr<Event>* event) {
  Context* context = nullptr;
  GPUSIM_TRY(CurrentContext(&context));
  *event = TheDriver().events.Find(handle);
  if (*event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if ((*event)->captured.active()) {
    (*event)->captured.capture->invalidated = true;
    return CUDA_ERROR_CAPTURED_EVENT;
  }
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult gpusim_cuEventCreate(CUevent* phEvent, unsigned Flags) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(CurrentContext(&context));
  if (phEvent == nullptr || (Flags & ~kEventFlags) != 0) return CUDA_ERROR_INVALID_VALUE;
  const bool interprocess = (Flags & CU_EVENT_INTERPROCESS) != 0;
  if (interprocess && (Flags & CU_EVENT_DISABLE_TIMING) == 0) return CUDA_ERROR_INVALID_VALUE;
  const auto event = std::make_shared<Event>();
  event->context = context;
  event->flags = Flags;
  *phEvent = TheDriver().events.Add(event);
  TheDriver().ledger.Add({.kind = "event",
                          .device = context->device,
                          .context = reinterpret_cast<uint64_t>(context),
                          .handle = HandleNumber(*phEvent)});
  return CUDA_SUCCESS;
}

CUresult gpusim_cuEventDestroy(CUevent hEvent) { return Destroy(hEvent); }
CUresult gpusim_cuEventDestroy_v2(CUevent hEvent) { return Destroy(hEvent); }
CUresult gpusim_cuEventRecord(CUevent hEvent, CUstream hStream) { return Record(hEvent, hStream); }
CUresult gpusim_cuEventRecordWithFlags(CUevent hEvent, CUstream hStream, unsigned flags) {
  return flags > CU_EVENT_RECORD_EXTERNAL ? CUDA_ERROR_INVALID_VALUE : Record(hEvent, hStream);
}

CUresult gpusim_cuEventQuery(CUevent hEvent) {
  const Guard guard;
  std::shared_ptr<Event> event;
  GPUSIM_TRY(FindForHost(hEvent, &event));
  return !event->recorded || Observe(event->moment) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult gpusim_cuEventSynchronize(CUevent hEvent) {
  const Guard guard;
  std::shared_ptr<Event> event;
  GPUSIM_TRY(FindForHost(hEvent, &event));
  if (event->recorded) Await(event->moment);
  SynchronizePools();
  return CUDA_SUCCESS;
}

CUresult gpusim_cuEventElapsedTime(float* pMilliseconds, CUevent hStart, CUevent hEnd) {
  return Elapsed(pMilliseconds, hStart, hEnd);
}
CUresult gpusim_cuEventElapsedTime_v2(float* pMilliseconds, CUevent hStart, CUevent hEnd) {
  return Elapsed(pMilliseconds, hStart, hEnd);
}

CUresult gpusim_cuStreamWaitEvent(CUstream hStream, CUevent hEvent, unsigned Flags) {
  const Guard guard;
  std::shared_ptr<Stream> stream;
  GPUSIM_TRY(FindStream(hStream, &stream));
  const auto event = TheDriver().events.Find(hEvent);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (Flags > CU_EVENT_WAIT_EXTERNAL) return CUDA_ERROR_INVALID_VALUE;
  if (event->captured.active()) return JoinCapture(stream.get(), event->captured);
  // An event of the world outside cannot be waited for within a capture.
  if (stream->capturing.active() && event->recorded) {
    stream->capturing.capture->invalidated = true;
    return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  }
  if (event->recorded) SubmitOn(*stream, {.run = nullptr, .after = {event->moment}});
  return CUDA_SUCCESS;
}

CUresult gpusim_cuCtxRecordEvent(CUcontext hCtx, CUevent hEvent) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(FindContext(hCtx, &context));
  const auto event = TheDriver().events.Find(hEvent);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  SubmitOn(*context->legacy_stream, {});
  event->moment = Now(context->legacy_stream->timeline);
  event->recorded = true;
  event->time_ns = NowNs();
  return CUDA_SUCCESS;
}

CUresult gpusim_cuCtxWaitEvent(CUcontext hCtx, CUevent hEvent) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(FindContext(hCtx, &context));
  const auto event = TheDriver().events.Find(hEvent);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (event->recorded)
    SubmitOn(*context->legacy_stream, {.run = nullptr, .after = {event->moment}});
  return CUDA_SUCCESS;
}

}  // extern "C"

}  // namespace gputrace::sim

// SPDX-License-Identifier: Apache-2.0
#include "simulator/driver/stream.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

#include "simulator/driver/entry.h"
#include "simulator/driver/pool.h"

namespace gputrace::sim {
namespace {

thread_local constinit int t_thread = 0;
thread_local constinit CUstreamCaptureMode t_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

std::shared_ptr<Stream> PerThreadStream(Context* context) {
  std::shared_ptr<Stream>& stream = context->per_thread_streams[ThreadId()];
  if (stream == nullptr) {
    stream = std::make_shared<Stream>();
    stream->context = context;
    stream->id = TheDriver().next_id++;
  }
  return stream;
}

bool UsesPerThreadStream(CUstream handle) {
  if (handle == CU_STREAM_PER_THREAD) return true;
  return handle == nullptr && CurrentEntry()->stream_kind == StreamKind::kPerThread;
}

template <typename Function>
void ForEachBlockingStream(const Context* context, Function function) {
  for (const auto& [thread, stream] : context->per_thread_streams) function(*stream);
  for (const auto& stream : TheDriver().streams.All()) {
    if (stream->context == context && stream->blocking()) function(*stream);
  }
}

// Moments that the stream has to wait for because of the legacy stream.
std::vector<Moment> ImplicitOrder(const Stream& stream) {
  std::vector<Moment> after;
  const Stream& legacy = *stream.context->legacy_stream;
  if (&stream == &legacy) {
    ForEachBlockingStream(stream.context,
                          [&after](const Stream& other) { after.push_back(Now(other.timeline)); });
  } else if (stream.blocking()) {
    after.push_back(Now(legacy.timeline));
  }
  return after;
}

bool Prohibits(const Capture& capture) {
  if (t_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return false;
  if (capture.thread == ThreadId()) return capture.mode != CU_STREAM_CAPTURE_MODE_RELAXED;
  return t_mode == CU_STREAM_CAPTURE_MODE_GLOBAL && capture.mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

}  // namespace

int ThreadId() {
  if (t_thread == 0) t_thread = static_cast<int>(syscall(SYS_gettid));
  return t_thread;
}

CUresult FindStream(CUstream handle, std::shared_ptr<Stream>* stream) {
  Context* context = nullptr;
  GPUSIM_TRY(CurrentContext(&context));
  if (UsesPerThreadStream(handle)) {
    *stream = PerThreadStream(context);
  } else if (handle == nullptr || handle == CU_STREAM_LEGACY) {
    *stream = context->legacy_stream;
  } else {
    *stream = TheDriver().streams.Find(handle);
  }
  return *stream == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

void SubmitOn(const Stream& stream, Work work) {
  for (Moment& moment : ImplicitOrder(stream)) work.after.push_back(std::move(moment));
  Submit(stream.timeline, std::move(work));
}

void SynchronizeStream(const Stream& stream) {
  std::vector<Moment> moments = ImplicitOrder(stream);
  moments.push_back(Now(stream.timeline));
  for (const Moment& moment : moments) Await(moment);
  SynchronizePools();
}

CUresult CheckLegacyUse(const Stream& stream) {
  if (&stream != stream.context->legacy_stream.get()) return CUDA_SUCCESS;
  CUresult result = CUDA_SUCCESS;
  ForEachBlockingStream(stream.context, [&result](const Stream& other) {
    if (!other.capturing.active()) return;
    other.capturing.capture->invalidated = true;
    result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  });
  return result;
}

CUresult CheckUnsafeCall() {
  CUresult result = CUDA_SUCCESS;
  const auto check = [&result](const Stream& stream) {
    if (!stream.capturing.active() || !Prohibits(*stream.capturing.capture)) return;
    stream.capturing.capture->invalidated = true;
    result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  };
  for (const auto& stream : TheDriver().streams.All()) check(*stream);
  return result;
}

CUstreamCaptureMode ExchangeCaptureMode(CUstreamCaptureMode mode) {
  return std::exchange(t_mode, mode);
}

}  // namespace gputrace::sim

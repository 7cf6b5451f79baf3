// SPDX-License-Identifier: Apache-2.0
// Streams by their handles, and work on them.
#ifndef GPUTRACE_SIMULATOR_DRIVER_STREAM_H_
#define GPUTRACE_SIMULATOR_DRIVER_STREAM_H_

#include <functional>
#include <memory>

#include "simulator/driver/context.h"
#include "simulator/driver/driver.h"

namespace gputrace::sim {

// A stream by its handle. 0 is the legacy default stream, or the calling thread's in entries of the
// kinds _ptds and _ptsz. Needs a current context. CUDA_ERROR_INVALID_HANDLE if there is none such.
CUresult FindStream(CUstream handle, std::shared_ptr<Stream>* stream);

inline bool IsDefaultStreamHandle(CUstream handle) {
  return reinterpret_cast<uint64_t>(handle) <= 2;
}

// Submits work with the order that streams have among each other: the legacy stream comes after all
// blocking streams of its context, and they after it. Not for capturing streams.
void SubmitOn(const Stream& stream, Work work);

// All that was submitted, with what the stream has to wait for besides. Marks it observed.
void SynchronizeStream(const Stream& stream);

// CUDA_ERROR_STREAM_CAPTURE_IMPLICIT if work on the legacy stream would order itself after a stream
// that is capturing; that capture is then invalid (header).
CUresult CheckLegacyUse(const Stream& stream);

// CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED if the calling thread may not call what is unsafe during a
// capture, such as cuMemAlloc; that capture is then invalid (header,
// cuThreadExchangeStreamCaptureMode).
CUresult CheckUnsafeCall();
// The calling thread's mode for that; gives the previous one.
CUstreamCaptureMode ExchangeCaptureMode(CUstreamCaptureMode mode);

int ThreadId();

}  // namespace gputrace::sim

#endif  // GPUTRACE_SIMULATOR_DRIVER_STREAM_H_

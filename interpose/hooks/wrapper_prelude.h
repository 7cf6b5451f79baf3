// SPDX-License-Identifier: Apache-2.0
// What the generated wrappers (driver_api/generate_tracer.py) are written in terms of.
#ifndef GPUTRACE_INTERPOSE_HOOKS_WRAPPER_PRELUDE_H_
#define GPUTRACE_INTERPOSE_HOOKS_WRAPPER_PRELUDE_H_

// All of the driver's functions under their own names: without it the header renames them.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "interpose/hooks/collectors.h"
#include "interpose/record/recorder.h"
#include "interpose/record/samples.h"
#include "interpose/resolve/coverage.h"
#include "interpose/resolve/wrappers.h"

#define GPUTRACE_EXPORT __attribute__((visibility("default")))

// Types of window systems' headers that entries outside of cuda.h take; opaque here.
using GLenum = unsigned int;
using GLuint = unsigned int;
using EGLint = int;
using EGLImageKHR = void*;
using EGLStreamKHR = void*;
using EGLSyncKHR = void*;
using VdpDevice = uint32_t;
using VdpOutputSurface = uint32_t;
using VdpVideoSurface = uint32_t;
using VdpGetProcAddress = int();

namespace gputrace::interpose {

// An operand as the 64 bits that a record holds.
template <typename T>
uint64_t ToWord(T value) {
  if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<uint64_t>(value);
  } else {
    return static_cast<uint64_t>(value);
  }
}

// What the null stream stands for in the entries with _ptsz.
inline CUstream PerThreadDefault(CUstream stream) {
  return stream == nullptr ? CU_STREAM_PER_THREAD : stream;
}

template <typename Function>
Function* NextOf(const void* next) {
  return reinterpret_cast<Function*>(const_cast<void*>(next));
}
template <typename Function>
Function* NextOf(const std::atomic<const void*>& next) {
  return NextOf<Function>(next.load(std::memory_order_relaxed));
}
template <typename Function>
const void* FunctionWord(Function* function) {
  return reinterpret_cast<const void*>(function);
}

}  // namespace gputrace::interpose

#endif  // GPUTRACE_INTERPOSE_HOOKS_WRAPPER_PRELUDE_H_

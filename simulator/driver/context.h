// SPDX-License-Identifier: Apache-2.0
// Contexts: which one a thread works in, and what begins and ends with one.
#ifndef GPUTRACE_SIMULATOR_DRIVER_CONTEXT_H_
#define GPUTRACE_SIMULATOR_DRIVER_CONTEXT_H_

#include "simulator/driver/driver.h"

namespace gputrace::sim {

inline CUcontext HandleOf(const Context* context) {
  return HandleTable<Context, CUcontext>::HandleOf(context);
}

// The calling thread's: CUDA_ERROR_INVALID_CONTEXT if it has none, CUDA_ERROR_CONTEXT_IS_DESTROYED
// if it is gone.
CUresult CurrentContext(Context** context);

// A context by its handle, or the current one if that is null.
CUresult FindContext(CUcontext handle, Context** context);

// The stack of contexts of the calling thread; the last is the current one. Handles, which may be
// stale.
void PushContext(CUcontext handle);
CUcontext PopContext();
CUcontext TopContext();
void ReplaceTopContext(CUcontext handle);
int ContextDepth();

// Takes the device memory that a context itself needs, and brings it to life.
CUresult Activate(Context* context);

// Ends a context with all that belongs to it: linear, managed and pinned memory, arrays, modules,
// streams, events and external memory. Memory of pools and of cuMemCreate stays (header).
void Deactivate(Context* context);

// Waits for all streams of the context. Releases the lock meanwhile.
void SynchronizeContext(Context* context);

}  // namespace gputrace::sim

#endif  // GPUTRACE_SIMULATOR_DRIVER_CONTEXT_H_

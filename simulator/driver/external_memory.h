// SPDX-License-Identifier: Apache-2.0
// Memory of other programming interfaces.
#ifndef GPUTRACE_SIMULATOR_DRIVER_EXTERNAL_MEMORY_H_
#define GPUTRACE_SIMULATOR_DRIVER_EXTERNAL_MEMORY_H_

namespace gputrace::sim {

struct Context;

// What was imported into a context ends with it (header of cuCtxDestroy).
void DestroyExternalMemoryOf(const Context* context);

}  // namespace gputrace::sim

#endif  // GPUTRACE_SIMULATOR_DRIVER_EXTERNAL_MEMORY_H_

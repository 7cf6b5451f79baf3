// SPDX-License-Identifier: Apache-2.0
// Whether the process that wrote a trace is still there.
#ifndef GPUTRACE_TRACE_PROCESS_STATE_H_
#define GPUTRACE_TRACE_PROCESS_STATE_H_

#include <cstdint>
#include <string>

#include "trace/reader.h"

namespace gputrace::trace {

// kRunning if the process runs on this machine and has the rings mapped, kExec if it runs but has
// become another program, else kKilled. `boot_id` tells that the trace comes from elsewhere.
Ended FindProcessState(uint32_t pid, uint64_t process_start_time, const std::string& boot_id,
                       const std::string& live_path);

}  // namespace gputrace::trace

#endif  // GPUTRACE_TRACE_PROCESS_STATE_H_

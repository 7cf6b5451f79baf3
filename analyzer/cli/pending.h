// SPDX-License-Identifier: Apache-2.0
// The part of the summary about memory that was freed in stream order and may not be reusable yet.
#ifndef GPUTRACE_ANALYZER_CLI_PENDING_H_
#define GPUTRACE_ANALYZER_CLI_PENDING_H_

#include "analyzer/analyses/run.h"
#include "analyzer/cli/output.h"
#include "analyzer/cli/session.h"
#include "analyzer/report/json.h"

namespace gputrace::cli {

// By device and the streams of allocation and free; nothing if nothing is pending.
void PrintPending(const Session& session, const analyses::RunResult& result, Output* out);
report::Json PendingJson(const analyses::RunResult& result);

}  // namespace gputrace::cli

#endif  // GPUTRACE_ANALYZER_CLI_PENDING_H_

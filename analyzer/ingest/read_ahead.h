// SPDX-License-Identifier: Apache-2.0
// Decodes a trace on a thread of its own, while its records are worked on.
#ifndef GPUTRACE_ANALYZER_INGEST_READ_AHEAD_H_
#define GPUTRACE_ANALYZER_INGEST_READ_AHEAD_H_

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "trace/reader.h"

namespace gputrace::ingest {

// As reader->ForEach(visit); `visit` runs on the calling thread. Until this returns the reader's
// health may change under one's feet; its dictionary does not. Memory: a few thousand records.
absl::Status ReadAhead(trace::Reader* reader, absl::FunctionRef<void(const trace::Record&)> visit);

}  // namespace gputrace::ingest

#endif  // GPUTRACE_ANALYZER_INGEST_READ_AHEAD_H_

// SPDX-License-Identifier: Apache-2.0
// Pieces of text output that several commands print.
#ifndef GPUTRACE_ANALYZER_CLI_TEXT_H_
#define GPUTRACE_ANALYZER_CLI_TEXT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/analyses/trust.h"
#include "analyzer/cli/output.h"
#include "analyzer/cli/session.h"
#include "analyzer/cli/shares.h"

namespace gputrace::cli {

// A line per process: `python3.11 train.py (pid 17 on host, rank 0): 2.31 s, exited`.
void PrintProcesses(Session* session, int64_t end_ns, Output* out);

// One line on stderr if `trust` says that calls are missing: for output that has no place for it.
void WarnOfDistrust(const Session& session, const analyses::Trust& trust);

// Nothing if all is well; else what is not, so that nobody misses it.
void PrintTrust(const Session& session, const analyses::Trust& trust, Output* out);

// A heading of a part of the output, with an empty line before it.
void PrintHeading(const Session& session, const std::string& title, Output* out);

// Frames under a list's entry: the whole stack with --native, else the frames nearest to the
// allocation that are not just passed through.
void PrintStack(const Session& session, uint32_t site, size_t frames, Output* out);

// A list of shares with their stacks or libraries, and a line for those left out. `whole`: 100 %.
void PrintShares(const Session& session, const std::vector<Share>& shares, size_t top,
                 uint64_t whole, size_t frames, Output* out);

}  // namespace gputrace::cli

#endif  // GPUTRACE_ANALYZER_CLI_TEXT_H_

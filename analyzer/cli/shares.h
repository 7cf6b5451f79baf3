// SPDX-License-Identifier: Apache-2.0
// Lists of who holds how much, grouped as --by wants it.
#ifndef GPUTRACE_ANALYZER_CLI_SHARES_H_
#define GPUTRACE_ANALYZER_CLI_SHARES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/analyses/peak.h"
#include "analyzer/cli/session.h"
#include "analyzer/report/json.h"

namespace gputrace::cli {

struct Share {
  uint64_t bytes = 0;
  uint64_t count = 0;
  uint32_t site = 0;    // one of those that were put together
  std::string library;  // empty if grouped by stack
};

// Sites with the same frames are put together, be they of different processes; or all of a library.
// Most bytes first, then most allocations. --min-size is heeded, --top is not.
std::vector<Share> GroupShares(Session* session, const std::vector<analyses::SiteShare>& sites,
                               GroupBy by);

// [{bytes, count, stack, fingerprint, framework}], or with `library` in place of the stack.
report::Json SharesJson(const Session& session, const std::vector<Share>& shares, size_t top);

}  // namespace gputrace::cli

#endif  // GPUTRACE_ANALYZER_CLI_SHARES_H_

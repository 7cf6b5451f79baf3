// SPDX-License-Identifier: Apache-2.0
// Which files a user means by the TRACE arguments.
#ifndef GPUTRACE_ANALYZER_INGEST_INPUTS_H_
#define GPUTRACE_ANALYZER_INGEST_INPUTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace gputrace::ingest {

// A file stands for itself, a folder for the `*.gputrace` files in it, in order of name. kNotFound
// names what is not there, and folders without a trace; kPermissionDenied what cannot be looked
// into.
absl::StatusOr<std::vector<std::string>> ExpandInputs(const std::vector<std::string>& arguments);

}  // namespace gputrace::ingest

#endif  // GPUTRACE_ANALYZER_INGEST_INPUTS_H_

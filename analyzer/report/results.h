// SPDX-License-Identifier: Apache-2.0
// Names of the driver's results.
#ifndef GPUTRACE_ANALYZER_REPORT_RESULTS_H_
#define GPUTRACE_ANALYZER_REPORT_RESULTS_H_

#include <cstdint>
#include <string>

namespace gputrace::report {

// "CUDA_ERROR_INVALID_CONTEXT"; "error 1234" for one that is seldom the answer to a free.
std::string ResultName(int32_t result);

}  // namespace gputrace::report

#endif  // GPUTRACE_ANALYZER_REPORT_RESULTS_H_

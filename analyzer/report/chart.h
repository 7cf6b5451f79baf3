// SPDX-License-Identifier: Apache-2.0
// A step function of time as a filled area of block characters.
#ifndef GPUTRACE_ANALYZER_REPORT_CHART_H_
#define GPUTRACE_ANALYZER_REPORT_CHART_H_

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/analyses/timeline.h"
#include "analyzer/report/terminal.h"

namespace gputrace::report {

// Each column shows the highest value of its part of [0, end_ns]: no peak is lost, however short.
// Lines are ended; sizes stand at the left, times below.
std::string RenderChart(const std::vector<analyses::TimelinePoint>& points, int64_t end_ns,
                        const Terminal& terminal, int rows = 12);

}  // namespace gputrace::report

#endif  // GPUTRACE_ANALYZER_REPORT_CHART_H_

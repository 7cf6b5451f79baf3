// SPDX-License-Identifier: Apache-2.0
// The parts of JSON output that all commands share. The schemas are in docs/schema. Whoever builds
// JSON includes nlohmann/json.hpp himself: it takes long to compile.
#ifndef GPUTRACE_ANALYZER_REPORT_JSON_H_
#define GPUTRACE_ANALYZER_REPORT_JSON_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/analyses/statistics.h"
#include "analyzer/analyses/trust.h"
#include "analyzer/ingest/job.h"
#include "analyzer/symbols/symbolizer.h"
#include "nlohmann/json_fwd.hpp"

namespace gputrace::report {

using Json = nlohmann::ordered_json;

// `schema`, `traces` and `trust`: what every document begins with.
Json BeginDocument(std::string_view command, const ingest::Job& job, const analyses::Trust& trust);

// {index, name, uuid, host, ordinal, physical, total}
Json DeviceJson(const ingest::Device& device);
// The device's index; null for host memory.
Json DeviceIndexJson(int32_t device);
Json FramesJson(const std::vector<const symbols::Frame*>& frames);
// {current, peak, peak_time, allocs, frees, failed}
Json StatisticsJson(const analyses::AccountStatistics& statistics);
// By account's name, all of them.
Json LedgersJson(const analyses::DeviceStatistics& statistics);
// Objects that are counted, by kind: {current, peak, created, destroyed}
Json ObjectsJson(const analyses::DeviceStatistics& statistics);

// Of a JSON array of strings, such as a trace's command line; empty if it is none.
std::vector<std::string> ParseStrings(std::string_view json);

Json TextOrNull(std::string_view text);
// An integer if the text is one, else the text, else null.
Json NumberOrText(std::string_view text);

// Ended by a line feed. Bytes that are no UTF-8 are replaced. `indent` < 0: on one line.
std::string Render(const Json& json, int indent = 2);

}  // namespace gputrace::report

#endif  // GPUTRACE_ANALYZER_REPORT_JSON_H_

// SPDX-License-Identifier: Apache-2.0
// For every wrapper: arguments, out-parameters, answers and errno are bit for bit what the driver
// alone gives, each call reaches the driver once, and is in the trace.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "tests/integration/survival/traced_process.h"

namespace gputrace {
namespace {

constexpr const char* kSymbols[] = {
#define ENTRY(symbol, small) #symbol,
#include "entries.inc"
#undef ENTRY
};
constexpr const char* kRounds = "60";

using Lines = std::map<std::string, std::vector<std::string>>;  // by symbol

Lines LinesOf(const TracedProcess& process) {
  Lines lines;
  std::istringstream text(process.Output());
  for (std::string line; std::getline(text, line);) {
    lines[line.substr(0, line.find(' '))].push_back(line);
  }
  return lines;
}

// Both runs, made once for all symbols.
struct Runs {
  Lines bare;
  Lines traced;
  std::map<std::string, std::set<int>> results;  // in the trace, by symbol
};

const Runs& BothRuns() {
  static const Runs* runs = [] {
    auto* made = new Runs;
    const std::vector<std::string> command = {TracedProcess::Built("workloads/transparency_client"),
                                              kRounds, "7"};
    TracedProcess bare;
    TracedProcess traced;
    for (TracedProcess* process : {&bare, &traced}) {
      process->environment["LD_LIBRARY_PATH"] = TracedProcess::Built("workloads/echo");
    }
    bare.environment["LD_PRELOAD"] = "";
    EXPECT_EQ(bare.Run(command), 0);
    EXPECT_EQ(traced.Run(command), 0);
    made->bare = LinesOf(bare);
    made->traced = LinesOf(traced);
    const std::unique_ptr<trace::Reader> reader = traced.Open();
    EXPECT_TRUE(reader
                    ->ForEach([&](const trace::Record& record) {
                      const trace::EntryDescriptor* entry =
                          reader->dictionary().entry(record.entry);
                      if (entry == nullptr) return;
                      if (record.kind == trace::RecordKind::kIntent) {
                        made->results[entry->symbol].insert(0);
                      } else {
                        made->results[entry->symbol].insert(record.result);
                      }
                    })
                    .ok());
    return made;
  }();
  return *runs;
}

class Transparency : public ::testing::TestWithParam<const char*> {};

TEST_P(Transparency, CallsAreAsWithoutUsAndRecorded) {
  const Runs& runs = BothRuns();
  const std::string symbol = GetParam();
  ASSERT_TRUE(runs.bare.contains(symbol));
  ASSERT_TRUE(runs.traced.contains(symbol));
  EXPECT_EQ(runs.traced.at(symbol), runs.bare.at(symbol));
  for (const std::string& line : runs.bare.at(symbol)) {
    ASSERT_THAT(line, ::testing::HasSubstr(" calls 1 arguments same "));
  }
  ASSERT_TRUE(runs.results.contains(symbol)) << "never recorded";
  EXPECT_TRUE(runs.results.at(symbol).contains(0));
  EXPECT_TRUE(runs.results.at(symbol).contains(987654)) << "failures are records, too";
}

INSTANTIATE_TEST_SUITE_P(Entry, Transparency, ::testing::ValuesIn(kSymbols),
                         [](const auto& symbol) { return std::string(symbol.param); });

}  // namespace
}  // namespace gputrace

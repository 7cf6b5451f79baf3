// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/integration/survival/traced_process.h"
#include "trace/repair.h"

namespace gputrace {
namespace {

// What the reader written from the document says: an object for the trace, then one per record.
std::vector<nlohmann::json> ReadIndependently(const TracedProcess& process) {
  const std::string out = process.Path("independent.jsonl");
  const std::string command = std::string(GPUTRACE_PYTHON) + " " + GPUTRACE_SOURCE +
                              "/docs/format_reader.py " + process.Path("t.gputrace") + " > " + out;
  EXPECT_EQ(system(command.c_str()), 0);
  std::vector<nlohmann::json> lines;
  std::ifstream in(out);
  for (std::string line; std::getline(in, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

void ExpectTheSame(const TracedProcess& process, size_t at_least) {
  const std::vector<nlohmann::json> independent = ReadIndependently(process);
  const std::unique_ptr<trace::Reader> reader = process.Open();
  ASSERT_FALSE(independent.empty());
  EXPECT_EQ(independent[0].at("facts").at("pid"), reader->dictionary().fact("pid"));
  size_t position = 0;
  ASSERT_TRUE(
      reader
          ->ForEach([&](const trace::Record& record) {
            ++position;
            ASSERT_LT(position, independent.size());
            const nlohmann::json& other = independent[position];
            const trace::EntryDescriptor* entry = reader->dictionary().entry(record.entry);
            ASSERT_EQ(other.at("kind"), static_cast<int>(record.kind)) << position;
            ASSERT_EQ(other.at("flags"), record.flags) << position;
            ASSERT_EQ(other.at("symbol"),
                      entry == nullptr ? nlohmann::json(nullptr) : nlohmann::json(entry->symbol))
                << position;
            ASSERT_EQ(other.at("result"), record.result) << position;
            ASSERT_EQ(other.at("thread"), record.thread) << position;
            ASSERT_EQ(other.at("context"), record.context) << position;
            ASSERT_EQ(other.at("operands"),
                      std::vector<uint64_t>(record.operands.begin(), record.operands.end()))
                << position;
            const trace::Stack stack = reader->dictionary().stack(record.native_stack);
            ASSERT_EQ(other.at("stack"), std::vector<uint64_t>(stack.pcs.begin(), stack.pcs.end()))
                << position;
          })
          .ok());
  EXPECT_EQ(position + 1, independent.size());
  EXPECT_GE(position, at_least);
}

TEST(Format, BothReadersAgreeOnEveryFamily) {
  for (const char* family : {"linear", "managed", "host", "pools", "contexts", "reset", "arrays",
                             "virtual", "modules"}) {
    TracedProcess process;
    ASSERT_EQ(process.Run({TracedProcess::Built("workloads/families"), family}), 0)
        << process.Output();
    ExpectTheSame(process, 4);
  }
}

TEST(Format, BothReadersAgreeOnManyThreadsAndBlocks) {
  TracedProcess process;
  ASSERT_EQ(
      process.Run({TracedProcess::Built("workloads/load"), "3", process.Path("counters"), "15000"}),
      0);
  ExpectTheSame(process, 89'000);
}

TEST(Format, BothReadersAgreeOnARepairedTrace) {
  TracedProcess process;
  process.Run({TracedProcess::Built("workloads/exits"), "abort"});
  ASSERT_TRUE(trace::Repair(process.Path("t.gputrace")).ok());
  ExpectTheSame(process, 4);
}

}  // namespace
}  // namespace gputrace

// SPDX-License-Identifier: Apache-2.0
// A ledger that is driven by hand-made records of hand-made entries.
#ifndef GPUTRACE_TESTS_UNIT_ANALYZER_LEDGER_FIXTURE_H_
#define GPUTRACE_TESTS_UNIT_ANALYZER_LEDGER_FIXTURE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/analyses/statistics.h"
#include "analyzer/ledger/ledger.h"
#include "gtest/gtest.h"

namespace gputrace {

struct OperandSpec {
  trace::Role role;
  bool out = false;
};

class LedgerFixture : public ::testing::Test {
 protected:
  static constexpr uint64_t kContext0 = 0xc0;  // dictionary id 1, device 0
  static constexpr uint64_t kContext1 = 0xc1;  // dictionary id 2, device 1
  static constexpr uint32_t kOutOfMemory = 2;

  LedgerFixture();

  void AddEntry(const std::string& symbol, std::vector<trace::Effect> effects,
                std::vector<OperandSpec> operands, bool intent = false);
  // The ledger is made with the first record.
  void Call(const std::string& symbol, std::vector<uint64_t> operands, int32_t result = 0);
  void Intent(const std::string& symbol, std::vector<uint64_t> operands);
  void Complete(const std::string& symbol, int32_t result, std::vector<uint64_t> operands = {});

  ledger::Ledger& ledger();
  analyses::Statistics& statistics() { return statistics_; }
  const analyses::AccountStatistics& account(ledger::Account account, int32_t device);
  const analyses::AccountStatistics& account(ledger::Account account) {
    return statistics_.all().accounts[static_cast<size_t>(account)];
  }
  void Observe(ledger::Observer* observer) { observers_.push_back(observer); }
  void SetShares(ledger::ShareTable* shares) { shares_ = shares; }

  // Of the records that follow.
  uint32_t context_ = 1;
  uint32_t thread_ = 1;
  uint32_t native_stack_ = 1;
  uint8_t flags_ = 0;
  int64_t time_ns_ = 0;  // grows by 10 with each record
  ledger::SiteTable sites_;

 private:
  void Apply(trace::RecordKind kind, const std::string& symbol, int32_t result,
             const std::vector<uint64_t>& operands);

  std::vector<trace::EntryDescriptor> entries_;
  std::map<std::string, uint16_t> ids_;
  analyses::Statistics statistics_;
  std::vector<ledger::Observer*> observers_;
  ledger::ShareTable* shares_ = nullptr;
  std::unique_ptr<ledger::Ledger> ledger_;
};

}  // namespace gputrace

#endif  // GPUTRACE_TESTS_UNIT_ANALYZER_LEDGER_FIXTURE_H_

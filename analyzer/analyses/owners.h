// SPDX-License-Identifier: Apache-2.0
// Whose memory it is: the library that asked for it.
#ifndef GPUTRACE_ANALYZER_ANALYSES_OWNERS_H_
#define GPUTRACE_ANALYZER_ANALYSES_OWNERS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analyzer/analyses/statistics.h"
#include "analyzer/ingest/job.h"
#include "analyzer/ledger/observer.h"
#include "analyzer/ledger/site_table.h"

namespace gputrace::analyses {

// A label, not a judgement: memory of a runtime library can leak too.
enum class OwnerClass : uint8_t { kProgram, kFramework, kRuntime, kUnknown };
std::string_view OwnerClassName(OwnerClass owner);  // "program", …

// By the name of a module's file.
OwnerClass ClassifyModule(std::string_view file_name);
// Whether a module only passes calls on (the driver, the CUDA runtime, this tracer, libffi, libc),
// so that the caller behind it is the one who asked.
bool IsPassedThrough(std::string_view file_name);
// "/usr/lib/libfoo.so.1" -> "libfoo.so.1"
std::string_view FileName(std::string_view path);

// Owners are numbered densely over all processes of a job. A site's owner is the module of its
// innermost frame that IsPassedThrough does not skip.
class OwnerTable {
 public:
  // Both outlive the table.
  OwnerTable(const ingest::Job* job, const ledger::SiteTable* sites) : job_(job), sites_(sites) {}

  uint32_t OwnerOf(uint32_t site);
  // The module's file name; "[no stack]" or "[unknown module]" where there is none.
  const std::string& name(uint32_t owner) const { return names_[owner]; }
  OwnerClass owner_class(uint32_t owner) const { return classes_[owner]; }
  size_t size() const { return names_.size(); }

 private:
  std::string_view NameOf(uint32_t site, OwnerClass* owner_class) const;
  uint32_t Number(std::string_view name, OwnerClass owner_class);

  const ingest::Job* const job_;
  const ledger::SiteTable* const sites_;
  std::vector<uint32_t> owners_;  // by site: owner + 1
  std::vector<std::string> names_;
  std::vector<OwnerClass> classes_;
  absl::flat_hash_map<std::string, uint32_t> numbers_;
};

struct OwnerStatistics {
  AccountStatistics device;  // ledger::kDeviceAccounts
  AccountStatistics managed;
  AccountStatistics host;  // ledger::kHostAccounts
};

// How much each owner holds, and held at most at one time.
class Owners final : public ledger::Observer {
 public:
  explicit Owners(OwnerTable* table) : table_(table) {}

  void OnAllocate(const ledger::Allocation& allocation) override;
  void OnFree(const ledger::Allocation& allocation, const ledger::FreeEvent& event) override;
  void OnTakeBack(const ledger::Allocation& allocation, const ledger::FreeEvent& undone,
                  int64_t time_ns) override;
  void OnProcessEnd(const ledger::Allocation& allocation, int64_t time_ns) override;

  // By owner; may be shorter than the table.
  const std::vector<OwnerStatistics>& owners() const { return owners_; }

 private:
  AccountStatistics* Of(const ledger::Allocation& allocation);

  OwnerTable* const table_;
  std::vector<OwnerStatistics> owners_;
};

}  // namespace gputrace::analyses

#endif  // GPUTRACE_ANALYZER_ANALYSES_OWNERS_H_

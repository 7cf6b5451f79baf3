// SPDX-License-Identifier: Apache-2.0
// One side's account of what came into being and what ended: the driver's, or the analyzer's.
#ifndef GPUTRACE_TESTS_TRUTH_ACCOUNT_H_
#define GPUTRACE_TESTS_TRUTH_ACCOUNT_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace gputrace::truth {

// A kind of the stand-in's journal (simulator/README.md), and what a trace can know of such
// objects.
enum class SizeIs : uint8_t { kKnown, kSeldomUnknown, kUnknown };
struct Kind {
  std::string_view name;
  SizeIs size;
  bool has_device;
};
inline constexpr Kind kKinds[] = {
    {"device", SizeIs::kKnown, true},
    {"managed", SizeIs::kKnown, true},
    {"pinned", SizeIs::kKnown, true},
    {"registered", SizeIs::kKnown, true},
    {"pool", SizeIs::kKnown, true},
    {"vmm", SizeIs::kKnown, true},
    {"reserved_va", SizeIs::kKnown, true},
    {"array", SizeIs::kKnown, true},
    {"mipmap", SizeIs::kKnown, true},
    {"external_memory", SizeIs::kKnown, true},
    {"module", SizeIs::kKnown, true},
    // Of a context, the image alone counts: no device.
    {"library", SizeIs::kKnown, false},
    // Memory of others: the calls that make it known do not say where it is. How much it is the
    // driver tells if there is a context, and of a handle not at all.
    {"vmm_import", SizeIs::kUnknown, false},
    {"alias", SizeIs::kSeldomUnknown, false},
    {"multicast", SizeIs::kKnown, false},
    // What the driver takes for a context is measured, not said by a call.
    {"context", SizeIs::kUnknown, true},
    {"stream", SizeIs::kUnknown, true},
    {"event", SizeIs::kUnknown, true},
    {"green_context", SizeIs::kUnknown, true},
    // An imported one may be of any device.
    {"mempool", SizeIs::kUnknown, false},
    {"graph_exec", SizeIs::kUnknown, false},
    // Mappings of memory that is mapped already. Totals only: which of several is the extra one is
    // a matter of definition.
    {"extra_mapping", SizeIs::kUnknown, false},
};
inline constexpr size_t kKindCount = std::size(kKinds);
inline constexpr size_t kNoKind = kKindCount;
size_t FindKind(std::string_view name);

struct Change {
  bool begins = false;
  int32_t device = -1;  // -1: host
  uint64_t size = 0;
  uint64_t pool = 0;      // 0: none, or not known
  uint64_t number = 0;    // in the order of its side: line of the journal, record of the trace
  uint64_t id = 0;        // of the object, on the ledger's side
  std::string_view call;  // symbol of the entry that did it
};

inline constexpr size_t kPlaces = 10;  // host, devices 0 to 7, unknown
struct Total {
  int64_t count = 0;
  int64_t bytes = 0;
  bool operator==(const Total&) const = default;
};
using Totals = std::array<std::array<Total, kPlaces>, kKindCount>;

class Account {
 public:
  using Key = std::pair<size_t, uint64_t>;  // kind, and address or handle

  void Add(size_t kind, uint64_t identity, Change change);
  // One more (or less) of a kind of which there are totals only.
  void AddToTotal(size_t kind, int change);
  // The end of object `id` did not happen after all.
  void TakeBackEnd(size_t kind, uint64_t identity, uint64_t id);

  const absl::flat_hash_map<Key, std::vector<Change>>& changes() const { return changes_; }
  // Totals at the marks (player.h), by number of mark.
  const std::map<uint64_t, Totals>& quiet_points() const { return quiet_points_; }
  uint64_t size() const { return size_; }
  uint64_t last_number() const { return last_number_; }
  // A name that lives as long as the account.
  std::string_view Intern(std::string_view name);

 private:
  void Count(size_t kind, const Change& change, int sign);

  absl::flat_hash_map<Key, std::vector<Change>> changes_;
  std::map<uint64_t, Totals> quiet_points_;
  Totals totals_{};
  uint64_t size_ = 0;
  uint64_t last_number_ = 1;
  absl::flat_hash_map<std::string_view, std::unique_ptr<std::string>> names_;
};

// Describes the first difference of the two; empty if there is none.
std::string FirstDifference(const Account& driver, const Account& ledger);

}  // namespace gputrace::truth

#endif  // GPUTRACE_TESTS_TRUTH_ACCOUNT_H_

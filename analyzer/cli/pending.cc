// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/pending.h"

#include <map>
#include <string>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "analyzer/cli/text.h"
#include "analyzer/report/units.h"
#include "nlohmann/json.hpp"

namespace gputrace::cli {
namespace {

using report::FormatBytes;
using report::FormatCount;
using report::Json;

constexpr size_t kDefaultTop = 5;

// Memory that one stream freed and that nothing shows to be reusable.
struct PendingGroup {
  uint64_t bytes = 0;
  uint64_t count = 0;
  int64_t oldest_ns = 0;
};
// Device, and the handles of the streams it was allocated and freed on.
using PendingKey = std::tuple<int32_t, uint64_t, uint64_t>;

// Default streams by name: their handles are the same numbers everywhere.
std::string StreamName(uint64_t handle) {
  if (handle <= 1) return "legacy";
  return handle == 2 ? "per_thread" : absl::StrCat("0x", absl::Hex(handle));
}

std::map<PendingKey, PendingGroup> PendingFrees(const analyses::RunResult& result) {
  std::map<PendingKey, PendingGroup> groups;
  for (const auto& ledger : result.ledgers) {
    ledger->stream_order().ForEachPending([&](const ledger::PendingFree& free) {
      const ledger::Allocation& memory = free.allocation;
      const auto [group, is_new] =
          groups.try_emplace(PendingKey(memory.device, memory.stream, free.stream));
      group->second.bytes += memory.bytes;
      ++group->second.count;
      if (is_new || free.time_ns < group->second.oldest_ns) group->second.oldest_ns = free.time_ns;
    });
  }
  return groups;
}

}  // namespace

void PrintPending(const Session& session, const analyses::RunResult& result, Output* out) {
  const std::map<PendingKey, PendingGroup> groups = PendingFrees(result);
  if (groups.empty()) return;
  PrintHeading(session, "Freed in stream order, and nothing shows that the stream got there", out);
  const size_t top = session.options().top.value_or(kDefaultTop);
  size_t shown = 0;
  for (const auto& [key, group] : groups) {
    if (top != 0 && shown++ == top) {
      out->Write(session.terminal().Paint(
          report::Style::kFaint,
          absl::StrCat("  … ", groups.size() - top, " more (--top 0 shows all)\n")));
      break;
    }
    const auto& [device, allocated_on, freed_on] = key;
    out->Write(absl::StrCat(
        "  ", FormatBytes(group.bytes), " in ", FormatCount(group.count),
        group.count == 1 ? " block" : " blocks", ", ", session.DeviceName(device),
        ": allocated on stream ", StreamName(allocated_on), ", freed on ",
        allocated_on == freed_on ? "the same" : absl::StrCat("stream ", StreamName(freed_on)),
        "; oldest at ", report::FormatDuration(group.oldest_ns), "\n"));
  }
}

Json PendingJson(const analyses::RunResult& result) {
  Json json = Json::array();
  for (const auto& [key, group] : PendingFrees(result)) {
    const auto& [device, allocated_on, freed_on] = key;
    json.push_back({{"device", report::DeviceIndexJson(device)},
                    {"allocated_on", StreamName(allocated_on)},
                    {"freed_on", StreamName(freed_on)},
                    {"bytes", group.bytes},
                    {"count", group.count},
                    {"oldest", group.oldest_ns}});
  }
  return json;
}

}  // namespace gputrace::cli

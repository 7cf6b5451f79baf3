// SPDX-License-Identifier: Apache-2.0
#include "trace/process_state.h"

#include <fstream>
#include <iterator>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace gputrace::trace {
namespace {

std::string ReadText(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// Field 22 of /proc/PID/stat. The second field, in parentheses, may contain anything.
uint64_t StartTimeOf(uint32_t pid) {
  const std::string stat = ReadText(absl::StrCat("/proc/", pid, "/stat"));
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(stat.substr(name_end + 1));
  std::string ignored;
  for (int field = 3; field < 22; ++field) fields >> ignored;
  uint64_t start = 0;
  fields >> start;
  return start;
}

}  // namespace

Ended FindProcessState(uint32_t pid, uint64_t process_start_time, const std::string& boot_id,
                       const std::string& live_path) {
  const std::string here = ReadText("/proc/sys/kernel/random/boot_id");
  if (boot_id.empty() || !absl::StartsWith(here, boot_id)) return Ended::kKilled;
  if (process_start_time == 0 || StartTimeOf(pid) != process_start_time) return Ended::kKilled;
  const std::string stat = ReadText(absl::StrCat("/proc/", pid, "/stat"));
  // A zombie has ended; nobody has collected its exit code yet.
  if (absl::StrContains(stat, ") Z ")) return Ended::kKilled;
  const std::string maps = ReadText(absl::StrCat("/proc/", pid, "/maps"));
  // Another user's maps cannot be read: then it is believed to go on.
  return maps.empty() || absl::StrContains(maps, live_path) ? Ended::kRunning : Ended::kExec;
}

}  // namespace gputrace::trace

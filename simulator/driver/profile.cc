// SPDX-License-Identifier: Apache-2.0
#include "simulator/driver/profile.h"

namespace gputrace::sim {
namespace {

struct Profile {
  std::string_view name;
  int version;
};
constexpr Profile kProfiles[] = {
    {"11.4", 11040}, {"12.2", 12020}, {"12.8", 12080}, {"13.0", 13000}, {"13.5", 13050}};

}  // namespace

int ProfileVersion(std::string_view name) {
  for (const Profile& profile : kProfiles) {
    if (profile.name == name) return profile.version;
  }
  return 0;
}

}  // namespace gputrace::sim

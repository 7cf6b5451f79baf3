// SPDX-License-Identifier: Apache-2.0
// A card: what it is called, how much it has.
#include <algorithm>
#include <cstdio>
#include <string_view>

#include "simulator/driver/objects.h"
#include "simulator/driver/session.h"

namespace gputrace::sim {

uint64_t Device::Free() const {
  const uint64_t taken = used + other + UsedByOtherProcesses(physical);
  return total - std::min(total, taken);
}

bool Device::Charge(uint64_t bytes) {
  if (bytes > Free()) return false;
  used += bytes;
  PublishUse(physical, used);
  return true;
}

void Device::Discharge(uint64_t bytes) {
  used -= bytes;
  PublishUse(physical, used);
}

// The same for a card in every process and every run.
void Device::Uuid(unsigned char bytes[16]) const {
  constexpr std::string_view kName = "gputrace-gpu-s";
  static_assert(kName.size() == 14);
  std::copy(kName.begin(), kName.end(), bytes);
  bytes[14] = static_cast<unsigned char>('0' + physical / 10);
  bytes[15] = static_cast<unsigned char>('0' + physical % 10);
}

std::string Device::UuidText() const {
  unsigned char bytes[16];
  Uuid(bytes);
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    char digits[3];
    snprintf(digits, sizeof(digits), "%02x", bytes[i]);
    text += digits;
  }
  return text;
}

}  // namespace gputrace::sim

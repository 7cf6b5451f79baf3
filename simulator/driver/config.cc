// SPDX-License-Identifier: Apache-2.0
#include "simulator/driver/config.h"

#include <cstdlib>
#include <cstring>

namespace gputrace::sim {
namespace {

constexpr int kNewestVersion = 13050;
constexpr int kProfiles[] = {11040, 12020, 12080, 13000, 13050};
constexpr size_t kDefaultBytes = size_t{16} << 30;
constexpr int kMaxDevices = 64;

std::string Variable(const char* name) {
  const char* value = getenv(name);
  return value == nullptr ? "" : value;
}

bool ParseNumber(const std::string& text, uint64_t* value) {
  char* end = nullptr;
  if (text.empty() || text[0] < '0' || text[0] > '9') return false;
  *value = strtoull(text.c_str(), &end, 10);
  return *end == '\0';
}

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  size_t start = 0;
  for (;;) {
    const size_t end = text.find(separator, start);
    parts.push_back(text.substr(start, end - start));
    if (end == std::string::npos) return parts;
    start = end + 1;
  }
}

void Complain(const char* name, const std::string& value, const char* why, Config* config) {
  if (config->error.empty()) config->error = std::string(name) + "=" + value + ": " + why;
}

void ReadDevices(Config* config) {
  uint64_t count = 1;
  const std::string devices = Variable("GPUSIM_DEVICES");
  if (!devices.empty() && (!ParseNumber(devices, &count) || count > kMaxDevices)) {
    Complain("GPUSIM_DEVICES", devices, "must be a number from 0 to 64", config);
    count = 1;
  }
  std::vector<size_t> sizes;
  const std::string memory = Variable("GPUSIM_MEMORY");
  if (!memory.empty()) {
    for (const std::string& part : Split(memory, ',')) {
      size_t bytes = 0;
      if (!ParseBytes(part, &bytes) || bytes == 0) {
        Complain("GPUSIM_MEMORY", memory, "must be sizes such as 16GiB, separated by commas", config);
        bytes = kDefaultBytes;
      }
      sizes.push_back(bytes);
    }
  }
  if (sizes.empty()) sizes.push_back(kDefaultBytes);
  if (sizes.size() > 1 && devices.empty()) count = sizes.size();
  // The last size holds for the rest.
  while (sizes.size() < count) sizes.push_back(sizes.back());
  sizes.resize(count);
  config->device_bytes = sizes;
}

void ReadVersion(Config* config) {
  config->version = kNewestVersion;
  const std::string version = Variable("GPUSIM_VERSION");
  if (version.empty()) return;
  for (const int profile : kProfiles) {
    const std::string name =
        std::to_string(profile / 1000) + "." + std::to_string(profile % 1000 / 10);
    if (version == name) {
      config->version = profile;
      return;
    }
  }
  Complain("GPUSIM_VERSION", version, "must be 11.4, 12.2, 12.8, 13.0 or 13.5", config);
}

// SYMBOL:N=RESULT or SYMBOL:pP=RESULT, separated by commas.
void ReadFailures(Config* config) {
  const std::string text = Variable("GPUSIM_FAIL");
  if (text.empty()) return;
  for (const std::string& part : Split(text, ',')) {
    const size_t colon = part.find(':');
    const size_t equals = part.find('=', colon == std::string::npos ? 0 : colon);
    uint64_t result = 0;
    FailureRule rule;
    bool good = colon != std::string::npos && equals != std::string::npos && colon > 0 &&
                ParseNumber(part.substr(equals + 1), &result) && result < 1000;
    if (good) {
      const std::string when = part.substr(colon + 1, equals - colon - 1);
      if (!when.empty() && when[0] == 'p') {
        char* end = nullptr;
        rule.probability = strtod(when.c_str() + 1, &end);
        good = *end == '\0' && rule.probability > 0 && rule.probability <= 1;
      } else {
        good = ParseNumber(when, &rule.call) && rule.call > 0;
      }
    }
    if (!good) {
      Complain("GPUSIM_FAIL", text, "must be like cuMemAlloc_v2:3=2 or cuMemAlloc_v2:p0.01=2", config);
      return;
    }
    rule.result = static_cast<int>(result);
    config->failures[part.substr(0, colon)] = rule;
  }
}

}  // namespace

bool ParseBytes(const std::string& text, size_t* bytes) {
  char* end = nullptr;
  if (text.empty() || text[0] < '0' || text[0] > '9') return false;
  const uint64_t value = strtoull(text.c_str(), &end, 10);
  unsigned shift = 0;
  if (strcmp(end, "KiB") == 0 || strcmp(end, "K") == 0) shift = 10;
  if (strcmp(end, "MiB") == 0 || strcmp(end, "M") == 0) shift = 20;
  if (strcmp(end, "GiB") == 0 || strcmp(end, "G") == 0) shift = 30;
  if (strcmp(end, "TiB") == 0 || strcmp(end, "T") == 0) shift = 40;
  if ((*end != '\0' && shift == 0) || value > (UINT64_MAX >> 1) >> shift) return false;
  *bytes = value << shift;
  return true;
}

Config ReadConfig() {
  Config config;
  ReadDevices(&config);
  ReadVersion(&config);
  ReadFailures(&config);
  const std::string other = Variable("GPUSIM_OTHER_USE");
  if (!other.empty() && !ParseBytes(other, &config.other_use)) {
    Complain("GPUSIM_OTHER_USE", other, "must be a size such as 3GiB", &config);
  }
  const std::string seed = Variable("GPUSIM_SEED");
  if (!seed.empty() && !ParseNumber(seed, &config.seed)) {
    Complain("GPUSIM_SEED", seed, "must be a number", &config);
  }
  config.distinct_pointers = Variable("GPUSIM_DISTINCT_POINTERS") == "1";
  config.journal = Variable("GPUSIM_JOURNAL");
  config.ledger = Variable("GPUSIM_LEDGER");
  return config;
}

}  // namespace gputrace::sim

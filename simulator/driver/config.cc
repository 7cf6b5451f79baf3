// SPDX-License-Identifier: Apache-2.0
#include "simulator/driver/config.h"

#include <charconv>
#include <cstdlib>

#include "simulator/driver/profile.h"

namespace gputrace::sim {
namespace {

constexpr uint64_t kMaxDevices = 64;
constexpr uint64_t kMaxBytes = uint64_t{1} << 56;

std::string_view Variable(const char* name) {
  const char* value = getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

template <typename Number>
bool ParseNumber(std::string_view text, Number* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t start = 0;;) {
    const size_t end = text.find(separator, start);
    parts.push_back(text.substr(start, end - start));
    if (end == std::string_view::npos) return parts;
    start = end + 1;
  }
}

std::string Complaint(const char* name, const char* expected) {
  return std::string(name) + "=" + std::string(Variable(name)) + ": expected " + expected;
}

// GPUSIM_MEMORY gives one size for all, or one for each; without GPUSIM_DEVICES it also says how
// many.
void ReadDevices(Config* config) {
  const std::string_view memory = Variable("GPUSIM_MEMORY");
  if (!memory.empty()) {
    config->memory.clear();
    for (const std::string_view part : Split(memory, ',')) {
      uint64_t bytes = 0;
      if (!ParseSize(part, &bytes) || bytes == 0) {
        config->error = Complaint("GPUSIM_MEMORY", "a size such as 16GiB, or a list of them");
        return;
      }
      config->memory.push_back(bytes);
    }
  }
  const std::string_view devices = Variable("GPUSIM_DEVICES");
  if (devices.empty()) return;
  uint64_t count = 0;
  if (!ParseNumber(devices, &count) || count > kMaxDevices) {
    config->error = Complaint("GPUSIM_DEVICES", "a number from 0 to 64");
    return;
  }
  if (config->memory.size() != 1 && config->memory.size() != count) {
    config->error = Complaint("GPUSIM_MEMORY", "as many sizes as GPUSIM_DEVICES says");
    return;
  }
  config->memory.resize(count, config->memory[0]);
}

void ReadVersion(Config* config) {
  config->driver_version = DefaultVersion();
  const std::string_view version = Variable("GPUSIM_VERSION");
  if (version.empty()) return;
  if (const int number = ProfileVersion(version); number != 0) {
    config->driver_version = number;
    return;
  }
  config->error = Complaint("GPUSIM_VERSION", "11.4, 12.2, 12.8, 13.0 or 13.5");
}

// SYMBOL:N=RESULT or SYMBOL:pP=RESULT
bool ParseFailure(std::string_view text, FailureRule* rule) {
  const size_t equals = text.rfind('=');
  if (equals == std::string_view::npos) return false;
  const size_t colon = text.rfind(':', equals);
  if (colon == std::string_view::npos || colon == 0) return false;
  rule->symbol = text.substr(0, colon);
  const std::string_view when = text.substr(colon + 1, equals - colon - 1);
  if (!ParseNumber(text.substr(equals + 1), &rule->result) || rule->result <= 0) return false;
  if (when.starts_with('p')) {
    return ParseNumber(when.substr(1), &rule->probability) && rule->probability >= 0 &&
           rule->probability <= 1;
  }
  return ParseNumber(when, &rule->call) && rule->call > 0;
}

void ReadFailures(Config* config) {
  const std::string_view text = Variable("GPUSIM_FAIL");
  if (text.empty()) return;
  for (const std::string_view part : Split(text, ',')) {
    FailureRule rule;
    if (!ParseFailure(part, &rule)) {
      config->error = Complaint("GPUSIM_FAIL",
                                "SYMBOL:CALL=RESULT or SYMBOL:pPROBABILITY=RESULT, "
                                "for example cuMemAlloc_v2:3=2");
      return;
    }
    config->failures.push_back(rule);
  }
}

void ReadScalars(Config* config) {
  const std::string_view other = Variable("GPUSIM_OTHER_USE");
  if (!other.empty() && !ParseSize(other, &config->other_use)) {
    config->error = Complaint("GPUSIM_OTHER_USE", "a size such as 2GiB");
  }
  const std::string_view seed = Variable("GPUSIM_SEED");
  if (!seed.empty() && !ParseNumber(seed, &config->seed)) {
    config->error = Complaint("GPUSIM_SEED", "a number");
  }
  const std::string_view distinct = Variable("GPUSIM_DISTINCT_POINTERS");
  if (!distinct.empty() && distinct != "0" && distinct != "1") {
    config->error = Complaint("GPUSIM_DISTINCT_POINTERS", "0 or 1");
  }
  config->distinct_pointers = distinct == "1";
}

}  // namespace

bool ParseSize(std::string_view text, uint64_t* bytes) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return false;
  std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  double factor = 1;
  if (!unit.empty() && unit != "B") {
    const size_t power = std::string_view("KMGT").find(unit[0]);
    if (power == std::string_view::npos) return false;
    unit.remove_prefix(1);
    if (!unit.empty() && unit != "iB") return false;
    factor = static_cast<double>(uint64_t{1} << (10 * (power + 1)));
  }
  if (number * factor > static_cast<double>(kMaxBytes)) return false;
  *bytes = static_cast<uint64_t>(number * factor);
  return true;
}

Config ReadConfig() {
  Config result;
  result.journal = Variable("GPUSIM_JOURNAL");
  result.ledger = Variable("GPUSIM_LEDGER");
  result.session = Variable("GPUSIM_SESSION");
  for (const auto read : {ReadDevices, ReadVersion, ReadFailures, ReadScalars}) {
    read(&result);
    if (!result.error.empty()) break;
  }
  return result;
}

const Config& config() {
  // Leaked: calls come after static destructors.
  static const Config* instance = new Config(ReadConfig());
  return *instance;
}

}  // namespace gputrace::sim

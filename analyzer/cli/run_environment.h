// SPDX-License-Identifier: Apache-2.0
// The environment that a traced command gets.
#ifndef GPUTRACE_ANALYZER_CLI_RUN_ENVIRONMENT_H_
#define GPUTRACE_ANALYZER_CLI_RUN_ENVIRONMENT_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace gputrace::cli {

// Variables by name. A value type: what is set here does not reach our own process.
class Environment {
 public:
  Environment() = default;
  static Environment OfThisProcess();

  std::optional<std::string> Get(const std::string& name) const;
  void Set(const std::string& name, const std::string& value) { variables_[name] = value; }
  // Puts `value` in front of a list; the user's own entries stay behind it.
  void Prepend(const std::string& name, const std::string& value, char separator);
  const std::map<std::string, std::string>& variables() const { return variables_; }
  std::vector<std::string> ToStrings() const;  // `NAME=value`

 private:
  std::map<std::string, std::string> variables_;
};

// What belongs to this program, found by where its own file is: `lib/` beside the folder that holds
// it.
struct Installation {
  std::string library;    // libgputrace.so, or what GPUTRACE_LIBRARY names
  std::string simulator;  // the folder that holds the stand-in's libcuda.so.1
};
Installation FindInstallation(const Environment& environment);

// Fails if the library cannot be preloaded: it is not there, or the loader could not parse its
// path.
absl::Status CheckLibrary(const std::string& library);

// The cards of --simulate: `80GiB`, `2x80GiB`, `16GiB,2x24GiB`. Sizes in bytes, one per device.
absl::StatusOr<std::vector<uint64_t>> ParseSimulatedDevices(const std::string& spec);

// Lets programs find the stand-in GPU first, and tells it what to be. Fails if it is not installed.
absl::Status AddSimulator(const std::string& folder, const std::vector<uint64_t>& device_bytes,
                          Environment* environment);

}  // namespace gputrace::cli

#endif  // GPUTRACE_ANALYZER_CLI_RUN_ENVIRONMENT_H_

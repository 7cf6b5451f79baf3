// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/run_environment.h"

#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <fstream>
#include <string_view>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "analyzer/report/units.h"

extern "C" char** environ;

namespace gputrace::cli {
namespace {

constexpr size_t kMaxDevices = 64;  // of the stand-in driver

std::string DirectoryOf(const std::string& path) { return path.substr(0, path.rfind('/')); }

std::string OwnPath() {
  char path[PATH_MAX];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof(path));
  return size > 0 ? std::string(path, static_cast<size_t>(size)) : "/usr/bin/gputrace";
}

}  // namespace

Environment Environment::OfThisProcess() {
  Environment environment;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const char* equals = strchr(*variable, '=');
    if (equals != nullptr)
      environment.Set(std::string(*variable, static_cast<size_t>(equals - *variable)), equals + 1);
  }
  return environment;
}

std::optional<std::string> Environment::Get(const std::string& name) const {
  const auto found = variables_.find(name);
  if (found == variables_.end()) return std::nullopt;
  return found->second;
}

void Environment::Prepend(const std::string& name, const std::string& value, char separator) {
  std::string& list = variables_[name];
  list = list.empty() ? value : absl::StrCat(value, std::string(1, separator), list);
}

std::vector<std::string> Environment::ToStrings() const {
  std::vector<std::string> strings;
  strings.reserve(variables_.size());
  for (const auto& [name, value] : variables_) strings.push_back(absl::StrCat(name, "=", value));
  return strings;
}

Installation FindInstallation(const Environment& environment) {
  const std::string lib = absl::StrCat(DirectoryOf(DirectoryOf(OwnPath())), "/lib");
  const std::string library = environment.Get("GPUTRACE_LIBRARY").value_or("");
  return {library.empty() ? absl::StrCat(lib, "/libgputrace.so") : library,
          absl::StrCat(lib, "/simulator")};
}

absl::Status CheckLibrary(const std::string& library) {
  if (access(library.c_str(), R_OK) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("the tracer's library ", library));
  }
  char magic[4] = {};
  std::ifstream(library, std::ios::binary).read(magic, sizeof(magic));
  if (std::string_view(magic, sizeof(magic)) !=
      "\x7f"
      "ELF") {
    return absl::InvalidArgumentError(
        absl::StrCat("the tracer's library ", library, " is no shared library"));
  }
  if (library.find_first_of(" \t\n:") != std::string::npos) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the tracer's library cannot be preloaded from a path with a space or a colon: ", library));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<uint64_t>> ParseSimulatedDevices(const std::string& spec) {
  std::vector<uint64_t> devices;
  for (const absl::string_view part : absl::StrSplit(spec, ',')) {
    const std::string group(part);
    const size_t times = group.find('x');
    uint64_t count = 1;
    if (times != std::string::npos &&
        (!absl::SimpleAtoi(group.substr(0, times), &count) || count == 0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", spec, "' is not a number of cards and a size, such as 2x80GiB"));
    }
    const auto bytes =
        report::ParseBytes(times == std::string::npos ? group : group.substr(times + 1));
    if (!bytes.ok()) return bytes.status();
    if (*bytes == 0) return absl::InvalidArgumentError("a card needs some memory");
    if (count > kMaxDevices - devices.size()) {
      return absl::InvalidArgumentError(absl::StrCat("more than ", kMaxDevices, " cards"));
    }
    devices.insert(devices.end(), count, *bytes);
  }
  return devices;
}

absl::Status AddSimulator(const std::string& folder, const std::vector<uint64_t>& device_bytes,
                          Environment* environment) {
  // Older versions have libraries of their own, which lack the functions that came later.
  const std::string version = environment->Get("GPUSIM_VERSION").value_or("");
  const std::string older = absl::StrCat(folder, "/", version);
  const bool use_older =
      !version.empty() && access(absl::StrCat(older, "/libcuda.so.1").c_str(), R_OK) == 0;
  const std::string& chosen = use_older ? older : folder;
  const std::string driver = absl::StrCat(chosen, "/libcuda.so.1");
  if (access(driver.c_str(), R_OK) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("the stand-in driver ", driver));
  }
  environment->Prepend("LD_LIBRARY_PATH", chosen, ':');
  environment->Set("GPUSIM_DEVICES", absl::StrCat(device_bytes.size()));
  environment->Set("GPUSIM_MEMORY", absl::StrJoin(device_bytes, ","));
  return absl::OkStatus();
}

}  // namespace gputrace::cli

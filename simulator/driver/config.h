// SPDX-License-Identifier: Apache-2.0
// What the stand-in GPU is told to be, through GPUSIM_* variables.
#ifndef GPUTRACE_SIMULATOR_DRIVER_CONFIG_H_
#define GPUTRACE_SIMULATOR_DRIVER_CONFIG_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace gputrace::sim {

struct FailureRule {
  uint64_t call = 0;        // which call of the entry fails, from 1; 0: by chance
  double probability = 0;
  int result = 0;           // what it returns
};

struct Config {
  std::vector<size_t> device_bytes;  // one per device
  int version = 0;                   // as cuDriverGetVersion answers: 13050
  size_t other_use = 0;              // bytes that another process seems to use, of each device
  uint64_t seed = 1;
  bool distinct_pointers = false;    // cuGetProcAddress answers with other addresses than dlsym
  std::map<std::string, FailureRule> failures;  // by symbol
  std::string journal;
  std::string ledger;
  std::string error;  // of the first bad variable: one sentence; empty if all are good
};

Config ReadConfig();

// `16GiB`, `512MiB`, `1024`; false if it is not a size.
bool ParseBytes(const std::string& text, size_t* bytes);

}  // namespace gputrace::sim

#endif  // GPUTRACE_SIMULATOR_DRIVER_CONFIG_H_

// SPDX-License-Identifier: Apache-2.0
// What the stand-in is told to be, through GPUSIM_* variables.
#ifndef GPUTRACE_SIMULATOR_DRIVER_CONFIG_H_
#define GPUTRACE_SIMULATOR_DRIVER_CONFIG_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gputrace::sim {

struct FailureRule {
  std::string symbol;
  uint64_t call = 0;       // fails that call, counted from 1; 0: see probability
  double probability = 0;  // of each call to fail
  int result = 0;
};

struct Config {
  std::vector<uint64_t> memory{uint64_t{16} << 30};  // bytes of each device
  int driver_version = 13050;                        // as cuDriverGetVersion gives it
  uint64_t other_use = 0;                            // bytes of each device that others seem to use
  uint64_t seed = 1;
  std::vector<FailureRule> failures;
  std::string journal;  // paths; empty: none
  std::string ledger;
  std::string session;
  bool distinct_pointers = false;  // cuGetProcAddress gives other addresses than dlsym
  std::string error;               // what is wrong with the variables; empty: nothing
};

// Reads the environment. Stops at the first bad value and puts a sentence about it into `error`.
Config ReadConfig();

// The environment as it was when the library was loaded.
const Config& config();

// "16GiB", "512M", "4096": bytes. False if it is something else, or more than 2^56.
bool ParseSize(std::string_view text, uint64_t* bytes);

}  // namespace gputrace::sim

#endif  // GPUTRACE_SIMULATOR_DRIVER_CONFIG_H_

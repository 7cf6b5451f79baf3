// SPDX-License-Identifier: Apache-2.0
// Runs a program under the tracer on the stand-in GPU, in a folder of its own.
#ifndef GPUTRACE_TESTS_INTEGRATION_SURVIVAL_TRACED_PROCESS_H_
#define GPUTRACE_TESTS_INTEGRATION_SURVIVAL_TRACED_PROCESS_H_

#include <sys/types.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "trace/reader.h"

namespace gputrace {

class TracedProcess {
 public:
  TracedProcess();
  ~TracedProcess();  // removes the folder

  const std::string& folder() const { return folder_; }
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  // Of the build: `workloads/load`, `lib/libgputrace.so`, …
  static std::string Built(const std::string& name);

  // Variables for the child in addition to the preload, the stand-in and GPUTRACE_OUT, which is
  // Path("t.gputrace"). An empty value removes a variable.
  std::map<std::string, std::string> environment;

  void Start(const std::vector<std::string>& command);
  pid_t pid() const { return pid_; }
  // Exit code, or 128 + signal, as shells have it.
  int Wait();
  int Run(const std::vector<std::string>& command) {
    Start(command);
    return Wait();
  }
  // What it wrote to stdout and stderr.
  std::string Output() const;
  bool Exists(const std::string& name) const;
  std::vector<std::string> Files() const;

  // Fails the test if the trace does not open.
  std::unique_ptr<trace::Reader> Open(const std::string& name = "t.gputrace") const;

 private:
  std::string folder_;
  pid_t pid_ = -1;
};

// What a trace says was done, and whether it can be true: an address is not allocated twice nor
// freed without having been allocated.
struct Replay {
  std::map<uint32_t, uint64_t> allocations;  // by thread; successful ones
  std::map<uint32_t, uint64_t> frees;
  std::map<uint64_t, uint64_t> live;  // address -> size
  uint64_t impossible = 0;
  uint64_t failed = 0;
  uint64_t records = 0;
  uint64_t without_stack = 0;
};
Replay ReplayLinear(trace::Reader* reader);

}  // namespace gputrace

#endif  // GPUTRACE_TESTS_INTEGRATION_SURVIVAL_TRACED_PROCESS_H_

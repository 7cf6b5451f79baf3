// SPDX-License-Identifier: Apache-2.0
// A library compiled, changed and loaded by a test, and what its code knows of itself.
#ifndef GPUTRACE_TESTS_UNIT_SYMBOLS_SUBJECT_H_
#define GPUTRACE_TESTS_UNIT_SYMBOLS_SUBJECT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/symbols/symbolizer.h"

namespace gputrace::symbols {

// A folder that goes with its object.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Runs a shell command; a failure fails the test, with the command's output.
void RunShell(const std::string& command);

// Compiles subject.cc into the shared library `output`. `flags` go to the compiler.
void Compile(const std::string& output, const std::string& flags = "-O2 -g",
             const std::string& compiler = GPUTRACE_TEST_CXX);

// The line of subject.cc that ends in `// MARK mark`.
int LineOf(const std::string& mark);

// Where a call in the loaded library was made from, and in what module.
struct Place {
  uint64_t pc = 0;        // return address
  uint64_t function = 0;  // address of the exported function called
  std::string path;
  std::string build_id;
  uint64_t start = 0;
  uint64_t end = 0;
  uint64_t bias = 0;

  ModuleRef module() const { return {1, path, build_id, start, end, bias}; }
};

// Loads `library` and calls subject_run, subject_run_hidden or subject_last_call in it.
Place Call(const std::string& library, const std::string& function);

// The frames of a place, with a symbolizer made for it.
std::vector<Frame> FramesOf(const Place& place, const SymbolizerOptions& options = {});
ModuleReport ReportOf(const Place& place, const SymbolizerOptions& options = {});

}  // namespace gputrace::symbols

#endif  // GPUTRACE_TESTS_UNIT_SYMBOLS_SUBJECT_H_

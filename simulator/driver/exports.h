// SPDX-License-Identifier: Apache-2.0
// The stand-in's table of entries, generated from the driver table, and what every entry does first.
#ifndef GPUTRACE_SIMULATOR_DRIVER_EXPORTS_H_
#define GPUTRACE_SIMULATOR_DRIVER_EXPORTS_H_

#include <atomic>
#include <cstdint>

namespace gputrace::sim {

struct ExportedEntry {
  const char* symbol;
  const char* base;
  uint32_t since;
  bool per_thread;
  bool implemented;
  void* address;    // what dlsym finds
  void* alternate;  // a second function that does the same
};
// Asked for a name from a version on, cuGetProcAddress answers with an entry of another name.
struct Alias {
  const char* name;  // null ends the table
  uint32_t since;
  uint32_t entry;  // in kExports
};
extern const Alias kAliases[];

// Sorted by base, then version.
extern const ExportedEntry kExports[];
extern const uint32_t kExportCount;
extern std::atomic<uint64_t> g_calls[];

// Counts the call; true if it is to fail by GPUSIM_FAIL, with *result what it returns.
bool Enter(uint32_t entry, int* result);

}  // namespace gputrace::sim

#endif  // GPUTRACE_SIMULATOR_DRIVER_EXPORTS_H_

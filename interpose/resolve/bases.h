// SPDX-License-Identifier: Apache-2.0
// Which symbols of the driver a name without suffix can stand for; generated from driver_api/.
#ifndef GPUTRACE_INTERPOSE_RESOLVE_BASES_H_
#define GPUTRACE_INTERPOSE_RESOLVE_BASES_H_

#include <cstdint>

namespace gputrace::interpose {

struct BaseVersion {
  const char* symbol;
  uint32_t since;    // cuGetProcAddress answers with it from this version on
  bool per_thread;   // for the per-thread default stream
  bool missed;       // passed through although it changes memory as its later versions do
  uint16_t wrapper;  // id, or 0 if it is passed through
};
struct Base {
  const char* name;
  const BaseVersion* versions;  // ascending by `since`
  uint32_t version_count;
};

// Sorted by name, as bytes.
extern const Base kBases[];
extern const uint32_t kBaseCount;
// The newest version (as cuGetProcAddress counts) whose entries the table knows.
extern const int kNewestVersion;

// Null if the table does not know the name.
const Base* FindBase(const char* name);
// The row of a symbol, with suffixes and all; null if the table does not know it.
const BaseVersion* FindSymbol(const char* symbol);

}  // namespace gputrace::interpose

#endif  // GPUTRACE_INTERPOSE_RESOLVE_BASES_H_

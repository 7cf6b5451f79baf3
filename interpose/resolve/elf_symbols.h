// SPDX-License-Identifier: Apache-2.0
// Looks symbols up in one loaded object's own tables, without calling anything: no function of
// libc, so that it works in constructors that run before ours, under sanitizers whose own start-up
// is not done, and beside other libraries that override dlsym.
#ifndef GPUTRACE_INTERPOSE_RESOLVE_ELF_SYMBOLS_H_
#define GPUTRACE_INTERPOSE_RESOLVE_ELF_SYMBOLS_H_

#include <link.h>

namespace gputrace::interpose {

// A function or data object that `object` itself defines; the default version if there are several.
// Of an indirect function, what its resolver chooses. Null if there is none.
void* FindInObject(const link_map* object, const char* name);

// The name under which `object` exports `address`; any of them if there are several, null if none.
const char* ExportAt(const link_map* object, const void* address);

// Calls visit(name, argument) for the name of each symbol that `object` defines.
void ForEachExport(const link_map* object, void (*visit)(const char* name, void* argument),
                   void* argument);

// The name by which others depend on `object`; null if it has none.
const char* SonameOf(const link_map* object);

// Calls visit(name, argument) for the name of each library that `object` depends on directly.
void ForEachNeeded(const link_map* object, void (*visit)(const char* name, void* argument),
                   void* argument);

// Whether `name` is `wanted`. strcmp without libc.
bool SameName(const char* name, const char* wanted);
bool StartsWith(const char* text, const char* prefix);
// The part of a path behind its last slash.
const char* FileNameOf(const char* path);

}  // namespace gputrace::interpose

#endif  // GPUTRACE_INTERPOSE_RESOLVE_ELF_SYMBOLS_H_

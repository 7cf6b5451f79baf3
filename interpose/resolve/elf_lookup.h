// SPDX-License-Identifier: Apache-2.0
// Looks symbols up in the objects that are loaded, without calling anything: no function of libc, so
// that it works in constructors that run before ours, under sanitizers whose own start-up is not done,
// and beside other libraries that override dlsym.
#ifndef GPUTRACE_INTERPOSE_RESOLVE_ELF_LOOKUP_H_
#define GPUTRACE_INTERPOSE_RESOLVE_ELF_LOOKUP_H_

#include <link.h>

#include <cstdint>

namespace gputrace::interpose {

// The first object of the program's list, or null in a statically linked program.
const link_map* FirstObject();
// The object whose mapped code or data holds `address`, or null.
const link_map* ObjectOf(const void* address);
// This library.
const link_map* OwnObject();

// A function or object that `object` itself defines; the default version if there are several.
void* FindInObject(const link_map* object, const char* name);
// Of the first object after `object` that defines it; of all objects if `object` is null.
void* FindAfter(const link_map* object, const char* name);

// A function of libc (or, before glibc 2.34, libpthread or libdl), in the version that programs get.
void* FindInLibc(const char* name);

// The driver library, by its file name, or null if it is not loaded.
const link_map* DriverObject();

// Whether `name` is `wanted`. strcmp without libc.
bool SameName(const char* name, const char* wanted);

}  // namespace gputrace::interpose

#endif  // GPUTRACE_INTERPOSE_RESOLVE_ELF_LOOKUP_H_

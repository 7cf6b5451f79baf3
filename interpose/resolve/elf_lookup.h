// SPDX-License-Identifier: Apache-2.0
// The objects that are loaded, and symbols in them, without functions that somebody may override:
// the only one of libc's that is called, dl_iterate_phdr, is looked up in libc itself. It keeps the
// list still while it is walked: other threads load and unload libraries.
#ifndef GPUTRACE_INTERPOSE_RESOLVE_ELF_LOOKUP_H_
#define GPUTRACE_INTERPOSE_RESOLVE_ELF_LOOKUP_H_

#include <link.h>

#include "interpose/resolve/elf_symbols.h"

namespace gputrace::interpose {

// Objects that these return stay valid while they are loaded, which is for the caller to know.

// The object whose mapped code or data holds `address`, or null.
const link_map* ObjectOf(const void* address);
// This library.
const link_map* OwnObject();
// The driver library, by its file name, or null if it is not loaded.
const link_map* DriverObject();

// The definition of `name` by the first object after `object` in load order that has one; of all
// objects if `object` is null.
void* FindAfter(const link_map* object, const char* name);
// The same by the first among `object`, what it depends on, what these depend on, and so on, but
// for this library: the scope that a library has to itself when it is loaded with RTLD_LOCAL.
void* FindInScopeOf(const link_map* object, const char* name);
// A function of libc (or, before glibc 2.34, libpthread or libdl) or of the loader, in the version
// that programs get.
void* FindInLibc(const char* name);

}  // namespace gputrace::interpose

#endif  // GPUTRACE_INTERPOSE_RESOLVE_ELF_LOOKUP_H_

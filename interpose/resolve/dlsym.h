// SPDX-License-Identifier: Apache-2.0
// The overrides of dlsym and dlvsym. The entry points are in dlsym_x86_64.S: unless a driver entry
// is asked for they jump on to the next provider with everything as the caller left it, the return
// address too, by which libc tells who is asking (RTLD_NEXT, RTLD_DEFAULT).
#ifndef GPUTRACE_INTERPOSE_RESOLVE_DLSYM_H_
#define GPUTRACE_INTERPOSE_RESOLVE_DLSYM_H_

namespace gputrace::interpose {

// What dlsym(RTLD_NEXT, symbol) gives this library: the next provider in the global scope, or null.
void* FindNextGlobal(const char* symbol);

}  // namespace gputrace::interpose

#endif  // GPUTRACE_INTERPOSE_RESOLVE_DLSYM_H_

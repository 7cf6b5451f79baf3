// SPDX-License-Identifier: Apache-2.0
// Functions of libc that libunwind calls and whose symbols are newer than the oldest glibc that this
// library is to load on (2.33 made functions of what were macros over __fxstat and __xstat).
#include <fcntl.h>
#include <sys/stat.h>

#include "interpose/record/sys.h"

namespace {

int Answer(long result) {
  return result < 0 ? -1 : 0;
}

}  // namespace

extern "C" {

__attribute__((visibility("hidden"))) int fstat(int fd, struct stat* info) noexcept {
  using namespace gputrace::interpose;
  return Answer(sys::Call(SYS_fstat, fd, sys::Pointer(info)));
}

__attribute__((visibility("hidden"))) int stat(const char* path, struct stat* info) noexcept {
  using namespace gputrace::interpose;
  return Answer(sys::Call(SYS_newfstatat, AT_FDCWD, sys::Pointer(path), sys::Pointer(info), 0));
}

}  // extern "C"

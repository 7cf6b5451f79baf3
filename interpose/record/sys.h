// SPDX-License-Identifier: Apache-2.0
// System calls made directly. The tracer must not touch the program's errno, be a cancellation
// point, call functions that the program or another preload overrides, or need symbols of a newer
// libc.
//
// All return the kernel's answer: -errno on failure.
#ifndef GPUTRACE_INTERPOSE_RECORD_SYS_H_
#define GPUTRACE_INTERPOSE_RECORD_SYS_H_

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace gputrace::interpose::sys {

inline long Call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                 long f = 0) {
#if defined(__x86_64__)
  long result;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x3 asm("x3") = d;
  register long x4 asm("x4") = e;
  register long x5 asm("x5") = f;
  asm volatile("svc #0"
               : "+r"(x0)
               : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
               : "memory");
  return x0;
#else
#error "gputrace supports x86-64 and aarch64"
#endif
}

inline long Pointer(const void* p) { return reinterpret_cast<long>(p); }

inline int Open(const char* path, int flags, int mode = 0) {
  return static_cast<int>(Call(SYS_openat, AT_FDCWD, Pointer(path), flags, mode));
}
inline void Close(int fd) { Call(SYS_close, fd); }
inline long Read(int fd, void* out, size_t size) {
  return Call(SYS_read, fd, Pointer(out), static_cast<long>(size));
}
inline long ReadAt(int fd, void* out, size_t size, uint64_t offset) {
  return Call(SYS_pread64, fd, Pointer(out), static_cast<long>(size), static_cast<long>(offset));
}
inline long Write(int fd, const void* data, size_t size) {
  return Call(SYS_write, fd, Pointer(data), static_cast<long>(size));
}
inline long Truncate(int fd, uint64_t size) {
  return Call(SYS_ftruncate, fd, static_cast<long>(size));
}
inline long Allocate(int fd, uint64_t offset, uint64_t size) {
  return Call(SYS_fallocate, fd, 0, static_cast<long>(offset), static_cast<long>(size));
}
inline long Unlink(const char* path) { return Call(SYS_unlinkat, AT_FDCWD, Pointer(path), 0); }
inline uint32_t GetPid() { return static_cast<uint32_t>(Call(SYS_getpid)); }
inline uint32_t GetTid() { return static_cast<uint32_t>(Call(SYS_gettid)); }
inline void Yield() { Call(SYS_sched_yield); }
inline bool ThreadIsGone(uint32_t pid, uint32_t tid) {
  constexpr long kNoSuchProcess = 3;
  return Call(SYS_tgkill, pid, tid, 0) == -kNoSuchProcess;
}

// Null on failure.
inline void* Map(size_t size, int protection, int flags, int fd = -1, uint64_t offset = 0,
                 void* at = nullptr) {
  const long result = Call(SYS_mmap, Pointer(at), static_cast<long>(size), protection, flags, fd,
                           static_cast<long>(offset));
  return result < 0 && result > -4096 ? nullptr : reinterpret_cast<void*>(result);
}
inline void* MapPrivate(size_t size) {
  return Map(size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
}
inline void Unmap(void* at, size_t size) { Call(SYS_munmap, Pointer(at), static_cast<long>(size)); }
inline long Advise(void* at, size_t size, int advice) {
  return Call(SYS_madvise, Pointer(at), static_cast<long>(size), advice);
}

inline void FutexWait(std::atomic<uint32_t>* word, uint32_t expected, uint64_t timeout_ns) {
  timespec timeout{static_cast<time_t>(timeout_ns / 1000000000u),
                   static_cast<long>(timeout_ns % 1000000000u)};
  Call(SYS_futex, Pointer(word), FUTEX_WAIT_PRIVATE, expected, Pointer(&timeout));
}
inline void FutexWake(std::atomic<uint32_t>* word) {
  Call(SYS_futex, Pointer(word), FUTEX_WAKE_PRIVATE, 0x7fffffff);
}
inline void SleepNs(uint64_t ns) {
  timespec time{static_cast<time_t>(ns / 1000000000u), static_cast<long>(ns % 1000000000u)};
  Call(SYS_nanosleep, Pointer(&time), 0);
}

}  // namespace gputrace::interpose::sys

#endif  // GPUTRACE_INTERPOSE_RECORD_SYS_H_

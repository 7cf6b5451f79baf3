// SPDX-License-Identifier: Apache-2.0
// Functions of libc as libunwind gets them. Libc's own would do what the tracer must not: keep file
// descriptors open, be cancellation points, wait for a lock that a fork left locked, or need
// symbols that are newer than the oldest glibc that this library is to load on.
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstdarg>

#include "interpose/record/sys.h"

#define HIDDEN __attribute__((visibility("hidden")))

namespace gputrace::interpose {
namespace {

long Answer(long result) {
  if (result >= 0) return result;
  errno = static_cast<int>(-result);
  return -1;
}

// Whether a byte can be read. False also where the system forbids to ask.
bool IsReadable(const void* address) {
  char byte;
  iovec local{&byte, 1};
  iovec remote{const_cast<void*>(address), 1};
  return sys::Call(SYS_process_vm_readv, sys::GetPid(), sys::Pointer(&local), 1,
                   sys::Pointer(&remote), 1, 0) == 1;
}

// The words behind libunwind's mutexes, in a page that the kernel wipes in a forked child: there no
// other thread is left that could unlock them.
constexpr uint32_t kMaxMutexes = 16;
struct Locks {
  std::atomic<uint32_t> words[kMaxMutexes];
};
std::atomic<Locks*> g_locks;
Locks g_locks_without_page;
std::atomic<const void*> g_mutexes[kMaxMutexes];

Locks* FindLocks() {
  Locks* locks = g_locks.load(std::memory_order_acquire);
  if (locks != nullptr) return locks;
  constexpr int kWipeOnFork = 18;  // MADV_WIPEONFORK, Linux 4.14
  constexpr size_t kPageBytes = 4096;
  void* page = sys::MapPrivate(kPageBytes);
  const bool is_wiped = page != nullptr && sys::Advise(page, kPageBytes, kWipeOnFork) >= 0;
  Locks* made = is_wiped ? static_cast<Locks*>(page) : &g_locks_without_page;
  if (g_locks.compare_exchange_strong(locks, made)) return made;
  if (page != nullptr) sys::Unmap(page, kPageBytes);
  return locks;
}

std::atomic<uint32_t>* WordOf(const void* mutex) {
  for (uint32_t i = 0; i < kMaxMutexes; ++i) {
    const void* owner = g_mutexes[i].load(std::memory_order_acquire);
    if (owner == nullptr && g_mutexes[i].compare_exchange_strong(owner, mutex)) owner = mutex;
    if (owner == mutex) return &FindLocks()->words[i];
  }
  return nullptr;
}

}  // namespace
}  // namespace gputrace::interpose

using namespace gputrace::interpose;

extern "C" {

HIDDEN int fstat(int fd, struct stat* info) noexcept {
  return static_cast<int>(Answer(sys::Call(SYS_fstat, fd, sys::Pointer(info))));
}

HIDDEN int stat(const char* path, struct stat* info) noexcept {
  return static_cast<int>(
      Answer(sys::Call(SYS_newfstatat, AT_FDCWD, sys::Pointer(path), sys::Pointer(info), 0)));
}

HIDDEN int open(const char* path, int flags, ...) {
  return static_cast<int>(Answer(sys::Open(path, flags | O_CLOEXEC)));
}

HIDDEN int close(int fd) { return static_cast<int>(Answer(sys::Call(SYS_close, fd))); }

HIDDEN ssize_t read(int fd, void* out, size_t size) { return Answer(sys::Read(fd, out, size)); }

// libunwind finds out whether it may read an address by writing from it into a pipe that it keeps
// open. There is no such pipe here, since the program may close it and use the number for a file of
// its own; syscall() below answers the question otherwise.
HIDDEN int pipe2(int*, int) noexcept { return 0; }

HIDDEN long syscall(long number, ...) noexcept {
  va_list arguments;
  va_start(arguments, number);
  (void)va_arg(arguments, int);
  const void* address = va_arg(arguments, const void*);
  va_end(arguments);
  if (number != SYS_write) return Answer(-ENOSYS);
  return IsReadable(address) ? 1 : Answer(-EFAULT);
}

HIDDEN int pthread_mutex_init(pthread_mutex_t*, const pthread_mutexattr_t*) noexcept { return 0; }

HIDDEN int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  std::atomic<uint32_t>* word = WordOf(mutex);
  if (word == nullptr) return 0;
  while (word->exchange(1, std::memory_order_acquire) != 0) sys::Yield();
  return 0;
}

HIDDEN int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  std::atomic<uint32_t>* word = WordOf(mutex);
  if (word != nullptr) word->store(0, std::memory_order_release);
  return 0;
}

}  // extern "C"

// SPDX-License-Identifier: Apache-2.0
#include "interpose/record/output_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "interpose/record/sys.h"

namespace gputrace::interpose {
namespace {

// Out of the way of programs that expect the lowest numbers to be free.
constexpr int kLowestDescriptor = 512;

int MoveUp(int fd) {
  const auto moved = static_cast<int>(sys::Call(SYS_fcntl, fd, F_DUPFD_CLOEXEC, kLowestDescriptor));
  if (moved < 0) return fd;
  sys::Close(fd);
  return moved;
}

// A slash or a control character in a name would make another path of it.
void AddName(const char* name, PathBuffer* path) {
  for (; *name != '\0'; ++name) {
    const bool harmless =
        static_cast<unsigned char>(*name) >= 0x20 && *name != '/' && *name != 0x7f;
    path->Add(harmless ? *name : '_');
  }
}

// In front of the suffix by which traces are found.
void AddCounter(uint32_t n, PathBuffer* path) {
  constexpr char kSuffix[] = ".gputrace";
  const PathBuffer whole = *path;
  const size_t suffix_at = whole.size() - std::min(whole.size(), sizeof(kSuffix) - 1);
  const bool has_suffix = memcmp(whole.c_str() + suffix_at, kSuffix, sizeof(kSuffix)) == 0;
  path->Clear();
  path->Add(whole.c_str(), has_suffix ? suffix_at : whole.size()).Add('.').AddNumber(n);
  if (has_suffix) path->Add(kSuffix);
}

}  // namespace

void ExpandOutputPath(const char* pattern, const OutputNames& names, PathBuffer* path) {
  path->Clear();
  for (; *pattern != '\0'; ++pattern) {
    if (*pattern != '%' || pattern[1] == '\0') {
      path->Add(*pattern);
      continue;
    }
    switch (*++pattern) {
      case 'p':
        path->AddNumber(names.pid);
        break;
      case 't':
        path->AddNumber(names.start_seconds);
        break;
      case 'h':
        AddName(names.host, path);
        break;
      case 'r':
        AddName(names.rank, path);
        break;
      case 'e':
        AddName(names.program, path);
        break;
      case '%':
        path->Add('%');
        break;
      default:
        path->Add('%').Add(*pattern);
        break;
    }
  }
}

long OutputFile::Create(PathBuffer* path) {
  constexpr uint32_t kMaxTries = 1000;
  const PathBuffer wanted = *path;
  for (uint32_t n = 0; n < kMaxTries; ++n) {
    *path = wanted;
    if (n > 0) AddCounter(n, path);
    if (path->truncated()) return -ENAMETOOLONG;
    const int fd = sys::Open(path->c_str(), O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
    if (fd >= 0) {
      fd_ = MoveUp(fd);
      size_ = 0;
      path_ = path->c_str();
      struct stat info {};
      sys::Call(SYS_fstat, fd_, sys::Pointer(&info));
      device_ = info.st_dev;
      inode_ = info.st_ino;
      return 0;
    }
    if (fd != -EEXIST) return fd;
  }
  return -EEXIST;
}

bool OutputFile::IsStillOurs() const {
  struct stat info {};
  return sys::Call(SYS_fstat, fd_, sys::Pointer(&info)) == 0 && info.st_dev == device_ &&
         info.st_ino == inode_;
}

long OutputFile::Reopen() {
  const int fd = sys::Open(path_, O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return fd;
  // The old number is somebody else's now: it is not closed.
  fd_ = MoveUp(fd);
  if (IsStillOurs()) return 0;
  sys::Close(fd_);
  return -ESTALE;
}

long OutputFile::Append(const void* data, size_t size) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  if (!IsStillOurs()) {
    if (const long error = Reopen(); error < 0) return error;
  }
  size_t done = 0;
  while (done < size) {
    const long n = sys::Write(fd_, bytes + done, size - done);
    if (n == -EINTR) continue;
    if (n <= 0) {
      if (done > 0) sys::Truncate(fd_, size_);
      return n == 0 ? -EIO : n;
    }
    done += static_cast<size_t>(n);
  }
  size_ += size;
  return 0;
}

long OutputFile::ReadAt(uint64_t offset, void* out, size_t size) const {
  return sys::ReadAt(fd_, out, size, offset);
}

}  // namespace gputrace::interpose

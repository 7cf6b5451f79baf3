// SPDX-License-Identifier: Apache-2.0
#include "simulator/driver/physical_memory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

namespace gputrace::sim {
namespace {

// Sparse: only its address space counts. More than any card has, so that ranges need not be reused.
constexpr off_t kFileSize = off_t{1} << 46;
constexpr uint64_t kPage = 4096;
// Smaller fills are cheaper by memset than by a system call.
constexpr uint64_t kMinPunch = 64 * 1024;

int OpenFile(const std::string& path) {
  const int file = path.empty() ? memfd_create("gpusim", MFD_CLOEXEC)
                                : open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return -1;
  // File systems have limits of their own (ext4: 16 TiB).
  for (off_t size = kFileSize; size > 0; size /= 2) {
    if (ftruncate(file, size) == 0) return file;
  }
  close(file);
  return -1;
}

}  // namespace

PhysicalMemory::PhysicalMemory(const std::string& path) : file_(OpenFile(path)) {}

std::optional<uint64_t> PhysicalMemory::Take(uint64_t size) {
  if (file_ < 0) return std::nullopt;
  if (const auto offset = free_.Take(size)) return offset;
  const uint64_t offset = end_;
  end_ += size;
  return offset;
}

void PhysicalMemory::Return(uint64_t offset, uint64_t size) {
  fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
            static_cast<off_t>(size));
  free_.Insert(offset, size, 0, UINT64_MAX);
}

uint64_t MapFile(int file, uint64_t offset, uint64_t size, int protection, uint64_t fixed) {
  const uint64_t at = fixed != 0 ? fixed : ReserveAddresses(size, kGranularity, 0);
  if (at == 0) return 0;
  void* mapped = mmap(reinterpret_cast<void*>(at), size, protection,
                      MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file, static_cast<off_t>(offset));
  if (mapped != MAP_FAILED) return at;
  if (fixed == 0) ReleaseAddresses(at, size);
  return 0;
}

uint64_t ReserveAddresses(uint64_t size, uint64_t alignment, uint64_t hint) {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  if (hint != 0) {
    void* wanted =
        mmap(reinterpret_cast<void*>(hint), size, PROT_NONE, kFlags | MAP_FIXED_NOREPLACE, -1, 0);
    if (wanted != MAP_FAILED && reinterpret_cast<uint64_t>(wanted) == hint) return hint;
    // A kernel before 4.17 takes it for a mere hint.
    if (wanted != MAP_FAILED) munmap(wanted, size);
  }
  if (size > UINT64_MAX / 2) return 0;
  void* mapped = mmap(nullptr, size + alignment, PROT_NONE, kFlags, -1, 0);
  if (mapped == MAP_FAILED) return 0;
  const auto start = reinterpret_cast<uint64_t>(mapped);
  const uint64_t at = RoundUp(start, alignment);
  if (at > start) munmap(mapped, at - start);
  if (start + alignment > at) {
    munmap(reinterpret_cast<void*>(at + size), start + alignment - at);
  }
  return at;
}

void DetachMemory(uint64_t address, uint64_t size) {
  // Refused only for want of mappings; then the memory stays until the addresses are released.
  static_cast<void>(mmap(reinterpret_cast<void*>(address), size, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0));
}

void ReleaseAddresses(uint64_t address, uint64_t size) {
  munmap(reinterpret_cast<void*>(address), size);
}

uint64_t MapAnonymous(uint64_t size) {
  void* mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return mapped == MAP_FAILED ? 0 : reinterpret_cast<uint64_t>(mapped);
}

void ZeroFill(uint64_t address, uint64_t size, bool anonymous) {
  const int advice = anonymous ? MADV_DONTNEED : MADV_REMOVE;
  const uint64_t first = RoundUp(address, kPage);
  const uint64_t last = (address + size) / kPage * kPage;
  if (size >= kMinPunch && last > first &&
      madvise(reinterpret_cast<void*>(first), last - first, advice) == 0) {
    memset(reinterpret_cast<void*>(address), 0, first - address);
    memset(reinterpret_cast<void*>(last), 0, address + size - last);
    return;
  }
  memset(reinterpret_cast<void*>(address), 0, size);
}

}  // namespace gputrace::sim

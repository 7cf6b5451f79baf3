// SPDX-License-Identifier: Apache-2.0
// The memory chips of a device, or what host memory the driver shares out: a sparse file that is
// mapped where memory is to be seen. Pages that nobody has written cost nothing.
#ifndef GPUTRACE_SIMULATOR_DRIVER_PHYSICAL_MEMORY_H_
#define GPUTRACE_SIMULATOR_DRIVER_PHYSICAL_MEMORY_H_

#include <sys/mman.h>

#include <cstdint>
#include <optional>
#include <string>

#include "simulator/driver/ranges.h"

namespace gputrace::sim {

inline constexpr uint64_t kMiB = uint64_t{1} << 20;
// Physical memory is handed out in these. Verified nowhere; what tools print of real cards says so.
inline constexpr uint64_t kGranularity = 2 * kMiB;

constexpr uint64_t RoundUp(uint64_t n, uint64_t unit) { return (n + unit - 1) / unit * unit; }

// Maps a range of a file; 0 if that is impossible. With `fixed`, there; else aligned to a granule.
uint64_t MapFile(int file, uint64_t offset, uint64_t size, int protection, uint64_t fixed);

// Not thread-safe: used under the driver's lock.
class PhysicalMemory {
 public:
  // With a path the file is kept there, so that other processes can open it; else it has no name.
  explicit PhysicalMemory(const std::string& path);

  // Takes whole granules; the offset of the range within the file. Limits are kept by the caller.
  std::optional<uint64_t> Take(uint64_t size);
  void Return(uint64_t offset, uint64_t size);

  uint64_t Map(uint64_t offset, uint64_t size, int protection, uint64_t fixed = 0) {
    return MapFile(file_, offset, size, protection, fixed);
  }

  int file() const { return file_; }

 private:
  int file_;
  uint64_t end_ = 0;
  FreeRanges free_;
};

// Address space without memory, aligned to `alignment` (a power of two); 0 if there is none left.
// With a hint, there if that is free.
uint64_t ReserveAddresses(uint64_t size, uint64_t alignment, uint64_t hint);
// Takes memory away from a range and leaves the address space reserved.
void DetachMemory(uint64_t address, uint64_t size);
void ReleaseAddresses(uint64_t address, uint64_t size);
// Anonymous memory that is backed when touched; 0 if there is none.
uint64_t MapAnonymous(uint64_t size);

// Fills with zeros without touching whole pages: those are given back. `anonymous`: from
// MapAnonymous.
void ZeroFill(uint64_t address, uint64_t size, bool anonymous);

}  // namespace gputrace::sim

#endif  // GPUTRACE_SIMULATOR_DRIVER_PHYSICAL_MEMORY_H_

// SPDX-License-Identifier: Apache-2.0
#include "simulator/driver/sharing.h"

#include <fcntl.h>
#include <unistd.h>

#include <iterator>
#include <string>

#include "simulator/driver/config.h"
#include "simulator/driver/driver.h"
#include "simulator/driver/physical_memory.h"

namespace gputrace::sim {

SharedPlace PlaceHere(int file, int physical_device, uint64_t offset, uint64_t size, uint64_t id) {
  SharedPlace place;
  place.process = getpid();
  place.file = file;
  place.physical_device = physical_device;
  place.offset = offset;
  place.size = size;
  place.id = id;
  return place;
}

bool PlaceOf(const Allocation& allocation, SharedPlace* place) {
  const auto& segments = TheDriver().segments;
  const auto after = segments.upper_bound(allocation.address);
  if (after == segments.begin()) return false;
  const auto& [start, segment] = *std::prev(after);
  if (allocation.address >= start + segment.size) return false;
  const Device& device = *TheDriver().devices[static_cast<size_t>(segment.device)];
  *place = PlaceHere(device.memory->file(), device.physical,
                     segment.offset + allocation.address - start, allocation.size, allocation.id);
  return true;
}

bool MapPlace(const SharedPlace& place, MappedPlace* mapped) {
  constexpr uint64_t kPage = 4096;
  const int file = OpenPlace(place);
  if (file < 0) return false;
  const uint64_t before = place.offset % kPage;
  mapped->mapped_size = RoundUp(before + place.size, kPage);
  mapped->mapped_at =
      MapFile(file, place.offset - before, mapped->mapped_size, PROT_READ | PROT_WRITE, 0);
  mapped->address = mapped->mapped_at + before;
  close(file);
  return mapped->mapped_at != 0;
}

int OpenPlace(const SharedPlace& place) {
  if (place.magic != SharedPlace::kMagic) return -1;
  const std::string process = std::to_string(place.process);
  const std::string path = "/proc/" + process + "/fd/" + std::to_string(place.file);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file >= 0 || config().session.empty()) return file;
  const std::string kept =
      config().session + "/" + process + "." + std::to_string(place.physical_device);
  return open(kept.c_str(), O_RDWR | O_CLOEXEC);
}

int DeviceOfPlace(const SharedPlace& place) {
  for (const auto& device : TheDriver().devices) {
    if (device->physical == place.physical_device) return device->ordinal;
  }
  return -1;
}

}  // namespace gputrace::sim

// SPDX-License-Identifier: Apache-2.0
// Code that programs hand to the driver: PTX text, ELF files (cubin), containers of both (fatbin).
#ifndef GPUTRACE_SIMULATOR_DRIVER_IMAGE_H_
#define GPUTRACE_SIMULATOR_DRIVER_IMAGE_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "simulator/driver/cuda_api.h"

namespace gputrace::sim {

struct Image {
  uint64_t size = 0;
  // False for containers, whose parts may be compressed: any name is believed then.
  bool names_known = false;
  std::set<std::string> functions;
  std::map<std::string, uint64_t> globals;  // bytes
};

// Reads as much of the memory behind `data` as the image says it has. CUDA_ERROR_INVALID_IMAGE if
// it is none of the three.
CUresult ReadImage(const void* data, Image* image);

// The same of a file. CUDA_ERROR_FILE_NOT_FOUND if it cannot be read.
CUresult ReadImageFile(const char* path, Image* image);

}  // namespace gputrace::sim

#endif  // GPUTRACE_SIMULATOR_DRIVER_IMAGE_H_

// SPDX-License-Identifier: Apache-2.0
// Arrays and mipmapped arrays: memory in an order of its own, known by a handle.
#ifndef GPUTRACE_SIMULATOR_DRIVER_ARRAY_H_
#define GPUTRACE_SIMULATOR_DRIVER_ARRAY_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "simulator/driver/driver.h"

namespace gputrace::sim {

struct Array {
  Context* context = nullptr;
  CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
  unsigned element_size = 0;
  uint64_t address =
      0;              // where its bytes are, rows without padding; 0: it has no memory of its own
  uint64_t size = 0;  // as CUDA's header defines it for arrays: bytes of all its elements
  uint64_t reserved = 0;  // what it takes of the device
  bool owner = true;      // false: a level or plane of another array, or mapped from elsewhere
  std::vector<std::shared_ptr<Array>> levels;  // of a mipmapped array
};

// Bytes of one element of one channel times the channels; 0 for a format that has no such size
// here.
unsigned ElementSize(CUarray_format format, unsigned channels);

// Bytes of the elements of one level.
uint64_t LevelSize(const CUDA_ARRAY3D_DESCRIPTOR& descriptor, unsigned element_size);

// Makes and accounts for an array of a context. `levels` is 0 for one that is not mipmapped.
CUresult MakeArray(Context* context, const CUDA_ARRAY3D_DESCRIPTOR& descriptor, unsigned levels,
                   std::shared_ptr<Array>* array);
void DestroyArray(Array* array);

// Those that end with the context.
void DestroyArraysOf(const Context* context);

}  // namespace gputrace::sim

#endif  // GPUTRACE_SIMULATOR_DRIVER_ARRAY_H_

// SPDX-License-Identifier: Apache-2.0
// CUDA's driver API as the stand-in implements it: every symbol under its own name, and the few
// types of window systems that entries for graphics take.
#ifndef GPUTRACE_SIMULATOR_DRIVER_CUDA_API_H_
#define GPUTRACE_SIMULATOR_DRIVER_CUDA_API_H_

// Without it the header renames cuMemAlloc to cuMemAlloc_v2 and hides the older symbols.
#define __CUDA_API_VERSION_INTERNAL
// The library is built with hidden visibility; what cuda.h declares is what it exports.
#pragma GCC visibility push(default)
#include <cuda.h>
#pragma GCC visibility pop

#include <cstddef>
#include <cstdint>

using GLuint = unsigned int;
using GLenum = unsigned int;
using EGLint = int;
using EGLImageKHR = void*;
using EGLStreamKHR = void*;
using EGLSyncKHR = void*;
using VdpDevice = uint32_t;
using VdpVideoSurface = uint32_t;
using VdpOutputSurface = uint32_t;
using VdpGetProcAddress = int();
using CUeglStreamConnection = void*;
using CUGLDeviceList = int;
using CUoutput_mode = int;

// Passed by value in one entry, which is answered "not supported": only its size matters. Three
// plane pointers and nine numbers.
struct CUeglFrame {
  void* planes[3];
  unsigned numbers[9];
};

#endif  // GPUTRACE_SIMULATOR_DRIVER_CUDA_API_H_

// SPDX-License-Identifier: Apache-2.0
// The functions of the real driver that the tracer itself calls: never through its own wrappers.
#ifndef GPUTRACE_INTERPOSE_RESOLVE_DRIVER_H_
#define GPUTRACE_INTERPOSE_RESOLVE_DRIVER_H_

#include <cuda.h>

namespace gputrace::interpose {

// Any of them may be null: no driver, or an older one.
struct Driver {
  CUresult (*ctx_get_current)(CUcontext*);
  CUresult (*ctx_get_device)(CUdevice*);
  CUresult (*device_get_count)(int*);
  CUresult (*device_get)(CUdevice*, int);
  CUresult (*device_get_name)(char*, int, CUdevice);
  CUresult (*device_get_uuid)(CUuuid*, CUdevice);
  CUresult (*device_total_mem)(size_t*, CUdevice);
  CUresult (*driver_get_version)(int*);
  CUresult (*stream_get_capture_info)(CUstream, CUstreamCaptureStatus*, cuuint64_t*);
  CUresult (*array_get_memory_requirements)(CUDA_ARRAY_MEMORY_REQUIREMENTS*, CUarray, CUdevice);
  CUresult (*mipmap_get_memory_requirements)(CUDA_ARRAY_MEMORY_REQUIREMENTS*, CUmipmappedArray,
                                             CUdevice);
  CUresult (*array_3d_get_descriptor)(CUDA_ARRAY3D_DESCRIPTOR*, CUarray);
  CUresult (*mem_get_info)(size_t*, size_t*);
  CUresult (*device_get_mem_pool)(CUmemoryPool*, CUdevice);
  CUresult (*mem_pool_get_attribute)(CUmemoryPool, CUmemPool_attribute, void*);
  CUresult (*device_get_graph_mem_attribute)(CUdevice, CUgraphMem_attribute, void*);
  CUresult (*mem_get_address_range)(CUdeviceptr*, size_t*, CUdeviceptr);
  const char* path;  // of the library
};

// Looked up when first asked for with the driver loaded. Thread-safe.
const Driver& driver();

// The device of the calling thread's current context; false if there is none.
inline bool CurrentDevice(CUdevice* device) {
  return driver().ctx_get_device != nullptr && driver().ctx_get_device(device) == CUDA_SUCCESS;
}

}  // namespace gputrace::interpose

#endif  // GPUTRACE_INTERPOSE_RESOLVE_DRIVER_H_

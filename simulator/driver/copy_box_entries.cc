// SPDX-License-Identifier: Apache-2.0
// Copies of boxes, and copies from and to arrays.
#include "bodies.h"
#include "simulator/driver/copy.h"

namespace gputrace::sim {
namespace {

CUDA_MEMCPY3D From2D(const CUDA_MEMCPY2D& p) {
  CUDA_MEMCPY3D box = {};
  box.srcXInBytes = p.srcXInBytes;
  box.srcY = p.srcY;
  box.srcMemoryType = p.srcMemoryType;
  box.srcHost = p.srcHost;
  box.srcDevice = p.srcDevice;
  box.srcArray = p.srcArray;
  box.srcPitch = p.srcPitch;
  box.dstXInBytes = p.dstXInBytes;
  box.dstY = p.dstY;
  box.dstMemoryType = p.dstMemoryType;
  box.dstHost = p.dstHost;
  box.dstDevice = p.dstDevice;
  box.dstArray = p.dstArray;
  box.dstPitch = p.dstPitch;
  box.WidthInBytes = p.WidthInBytes;
  box.Height = p.Height;
  box.Depth = 1;
  return box;
}

CUDA_MEMCPY3D FromPeer(const CUDA_MEMCPY3D_PEER& p) {
  CUDA_MEMCPY3D box = {};
  box.srcXInBytes = p.srcXInBytes;
  box.srcY = p.srcY;
  box.srcZ = p.srcZ;
  box.srcMemoryType = p.srcMemoryType;
  box.srcHost = p.srcHost;
  box.srcDevice = p.srcDevice;
  box.srcArray = p.srcArray;
  box.srcPitch = p.srcPitch;
  box.srcHeight = p.srcHeight;
  box.dstXInBytes = p.dstXInBytes;
  box.dstY = p.dstY;
  box.dstZ = p.dstZ;
  box.dstMemoryType = p.dstMemoryType;
  box.dstHost = p.dstHost;
  box.dstDevice = p.dstDevice;
  box.dstArray = p.dstArray;
  box.dstPitch = p.dstPitch;
  box.dstHeight = p.dstHeight;
  box.WidthInBytes = p.WidthInBytes;
  box.Height = p.Height;
  box.Depth = p.Depth;
  return box;
}

// One row of an array, from an offset in bytes.
struct ArrayRow {
  CUarray array;
  size_t offset;
};

CUDA_MEMCPY3D Row(size_t size) {
  CUDA_MEMCPY3D box = {};
  box.WidthInBytes = size;
  box.Height = 1;
  box.Depth = 1;
  return box;
}

CUresult ToArray(ArrayRow to, CUDA_MEMCPY3D box, CUstream stream, bool wait) {
  box.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  box.dstArray = to.array;
  box.dstXInBytes = to.offset;
  return Copy(box, stream, wait);
}

CUDA_MEMCPY3D FromArray(ArrayRow from, size_t size) {
  CUDA_MEMCPY3D box = Row(size);
  box.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  box.srcArray = from.array;
  box.srcXInBytes = from.offset;
  return box;
}

CUDA_MEMCPY3D FromHost(const void* host, size_t size) {
  CUDA_MEMCPY3D box = Row(size);
  box.srcMemoryType = CU_MEMORYTYPE_HOST;
  box.srcHost = host;
  return box;
}

CUresult ToHost(void* host, CUDA_MEMCPY3D box, CUstream stream, bool wait) {
  box.dstMemoryType = CU_MEMORYTYPE_HOST;
  box.dstHost = host;
  return Copy(box, stream, wait);
}

}  // namespace

extern "C" {

CUresult gpusim_cuMemcpy2D_v2(const CUDA_MEMCPY2D* pCopy) {
  return pCopy == nullptr ? CUDA_ERROR_INVALID_VALUE : Copy(From2D(*pCopy), nullptr, true);
}
CUresult gpusim_cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* pCopy) {
  return pCopy == nullptr ? CUDA_ERROR_INVALID_VALUE : Copy(From2D(*pCopy), nullptr, true);
}
CUresult gpusim_cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* pCopy, CUstream hStream) {
  return pCopy == nullptr ? CUDA_ERROR_INVALID_VALUE : Copy(From2D(*pCopy), hStream, false);
}
CUresult gpusim_cuMemcpy3D_v2(const CUDA_MEMCPY3D* pCopy) {
  return pCopy == nullptr ? CUDA_ERROR_INVALID_VALUE : Copy(*pCopy, nullptr, true);
}
CUresult gpusim_cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* pCopy, CUstream hStream) {
  return pCopy == nullptr ? CUDA_ERROR_INVALID_VALUE : Copy(*pCopy, hStream, false);
}
CUresult gpusim_cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER* pCopy) {
  return pCopy == nullptr ? CUDA_ERROR_INVALID_VALUE : Copy(FromPeer(*pCopy), nullptr, true);
}
CUresult gpusim_cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER* pCopy, CUstream hStream) {
  return pCopy == nullptr ? CUDA_ERROR_INVALID_VALUE : Copy(FromPeer(*pCopy), hStream, false);
}

CUresult gpusim_cuMemcpyHtoA_v2(CUarray dstArray, size_t dstOffset, const void* srcHost,
                                size_t ByteCount) {
  return ToArray({dstArray, dstOffset}, FromHost(srcHost, ByteCount), nullptr, true);
}
CUresult gpusim_cuMemcpyHtoAAsync_v2(CUarray dstArray, size_t dstOffset, const void* srcHost,
                                     size_t ByteCount, CUstream hStream) {
  return ToArray({dstArray, dstOffset}, FromHost(srcHost, ByteCount), hStream, false);
}
CUresult gpusim_cuMemcpyAtoH_v2(void* dstHost, CUarray srcArray, size_t srcOffset,
                                size_t ByteCount) {
  return ToHost(dstHost, FromArray({srcArray, srcOffset}, ByteCount), nullptr, true);
}
CUresult gpusim_cuMemcpyAtoHAsync_v2(void* dstHost, CUarray srcArray, size_t srcOffset,
                                     size_t ByteCount, CUstream hStream) {
  return ToHost(dstHost, FromArray({srcArray, srcOffset}, ByteCount), hStream, false);
}
CUresult gpusim_cuMemcpyDtoA_v2(CUarray dstArray, size_t dstOffset, CUdeviceptr srcDevice,
                                size_t ByteCount) {
  CUDA_MEMCPY3D box = Row(ByteCount);
  box.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  box.srcDevice = srcDevice;
  return ToArray({dstArray, dstOffset}, box, nullptr, false);
}
CUresult gpusim_cuMemcpyAtoD_v2(CUdeviceptr dstDevice, CUarray srcArray, size_t srcOffset,
                                size_t ByteCount) {
  CUDA_MEMCPY3D box = FromArray({srcArray, srcOffset}, ByteCount);
  box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  box.dstDevice = dstDevice;
  return Copy(box, nullptr, false);
}
CUresult gpusim_cuMemcpyAtoA_v2(CUarray dstArray, size_t dstOffset, CUarray srcArray,
                                size_t srcOffset, size_t ByteCount) {
  return ToArray({dstArray, dstOffset}, FromArray({srcArray, srcOffset}, ByteCount), nullptr,
                 false);
}

}  // extern "C"

}  // namespace gputrace::sim

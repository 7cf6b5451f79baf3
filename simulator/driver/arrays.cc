// SPDX-License-Identifier: Apache-2.0
// Arrays and mipmapped arrays: opaque memory with handles in place of addresses.
#include <algorithm>

#include "simulator/driver/journal.h"
#include "simulator/driver/state.h"

namespace gputrace::sim {
namespace {

size_t FormatBytes(CUarray_format format) {
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
      return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
      return 2;
    default:
      return 4;
  }
}

size_t LevelBytes(const CUDA_ARRAY3D_DESCRIPTOR& d, unsigned level) {
  const auto part = [level](size_t n) { return std::max<size_t>(n >> level, 1); };
  return part(d.Width) * part(d.Height) * part(d.Depth) * d.NumChannels * FormatBytes(d.Format);
}

Array* FromHandle(const void* handle) {
  for (Array* array : state().arrays) {
    if (array == handle && array->alive) return array;
  }
  return nullptr;
}

CUresult Create(const CUDA_ARRAY3D_DESCRIPTOR& descriptor, unsigned levels, const char* call,
                Array** out) {
  Context* context = nullptr;
  if (const CUresult result = NeedContext(&context); result != CUDA_SUCCESS) return result;
  const unsigned channels = descriptor.NumChannels;
  if (descriptor.Width == 0 || (channels != 1 && channels != 2 && channels != 4)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  size_t size = 0;
  const bool sparse =
      (descriptor.Flags & (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING)) != 0;
  for (unsigned level = 0; level < std::max(levels, 1u) && !sparse; ++level) {
    size += LevelBytes(descriptor, level);
  }
  const size_t physical = RoundUp(size, kGranularity);
  if (const CUresult result = TakePhysical(context->device, physical); result != CUDA_SUCCESS) {
    return result;
  }
  auto* array = new Array;
  array->context = context;
  array->descriptor = descriptor;
  array->size = size;
  array->levels = levels;
  state().arrays.push_back(array);
  NoteChange({call, '+', "array", 0, size, context->device, reinterpret_cast<uint64_t>(context), 0,
              reinterpret_cast<uint64_t>(array)});
  *out = array;
  return CUDA_SUCCESS;
}

CUresult Destroy(Array* array, const char* call) {
  if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  array->alive = false;
  ReturnPhysical(array->context->device, RoundUp(array->size, kGranularity));
  NoteChange({call, '-', "array", 0, array->size, array->context->device,
              reinterpret_cast<uint64_t>(array->context), 0, reinterpret_cast<uint64_t>(array)});
  return CUDA_SUCCESS;
}

CUresult Requirements(const Array* array, CUDA_ARRAY_MEMORY_REQUIREMENTS* out) {
  if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = {};
  out->size = array->size;
  out->alignment = kAlignment;
  return CUDA_SUCCESS;
}

}  // namespace

CUresult Sim_cuArray3DCreate_v2(CUarray* out, const CUDA_ARRAY3D_DESCRIPTOR* descriptor) {
  const Locked locked;
  if (out == nullptr || descriptor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Array* array = nullptr;
  const CUresult result = Create(*descriptor, 0, "cuArray3DCreate_v2", &array);
  if (result == CUDA_SUCCESS) *out = reinterpret_cast<CUarray>(array);
  return result;
}

CUresult Sim_cuArrayCreate_v2(CUarray* out, const CUDA_ARRAY_DESCRIPTOR* descriptor) {
  const Locked locked;
  if (out == nullptr || descriptor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUDA_ARRAY3D_DESCRIPTOR d{};
  d.Width = descriptor->Width;
  d.Height = descriptor->Height;
  d.Format = descriptor->Format;
  d.NumChannels = descriptor->NumChannels;
  Array* array = nullptr;
  const CUresult result = Create(d, 0, "cuArrayCreate_v2", &array);
  if (result == CUDA_SUCCESS) *out = reinterpret_cast<CUarray>(array);
  return result;
}

CUresult Sim_cuArrayDestroy(CUarray array) {
  const Locked locked;
  return Destroy(FromHandle(array), "cuArrayDestroy");
}

CUresult Sim_cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR* out, CUarray handle) {
  const Locked locked;
  const Array* array = FromHandle(handle);
  if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = array->descriptor;
  return CUDA_SUCCESS;
}

CUresult Sim_cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS* out, CUarray array, CUdevice) {
  const Locked locked;
  return Requirements(FromHandle(array), out);
}

CUresult Sim_cuMipmappedArrayCreate(CUmipmappedArray* out, const CUDA_ARRAY3D_DESCRIPTOR* descriptor,
                                    unsigned int levels) {
  const Locked locked;
  if (out == nullptr || descriptor == nullptr || levels == 0) return CUDA_ERROR_INVALID_VALUE;
  Array* array = nullptr;
  const CUresult result = Create(*descriptor, levels, "cuMipmappedArrayCreate", &array);
  if (result == CUDA_SUCCESS) *out = reinterpret_cast<CUmipmappedArray>(array);
  return result;
}

CUresult Sim_cuMipmappedArrayDestroy(CUmipmappedArray array) {
  const Locked locked;
  return Destroy(FromHandle(array), "cuMipmappedArrayDestroy");
}

CUresult Sim_cuMipmappedArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS* out,
                                                   CUmipmappedArray array, CUdevice) {
  const Locked locked;
  return Requirements(FromHandle(array), out);
}

}  // namespace gputrace::sim

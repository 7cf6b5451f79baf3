// SPDX-License-Identifier: Apache-2.0
#include "simulator/driver/array.h"

#include <algorithm>

#include "simulator/driver/physical_memory.h"

namespace gputrace::sim {
namespace {

void Tell(const Array& array, bool mipmapped) {
  TheDriver().ledger.Add({.kind = mipmapped ? "mipmap" : "array",
                          .size = array.size,
                          .device = array.context->device,
                          .context = reinterpret_cast<uint64_t>(array.context),
                          .handle = reinterpret_cast<uint64_t>(&array)});
}

CUDA_ARRAY3D_DESCRIPTOR Halved(CUDA_ARRAY3D_DESCRIPTOR descriptor, unsigned level) {
  const auto halve = [level](size_t n, bool layers) {
    return n == 0 || layers ? n : std::max<size_t>(n >> level, 1);
  };
  const bool layered = (descriptor.Flags & CUDA_ARRAY3D_LAYERED) != 0;
  descriptor.Width = halve(descriptor.Width, false);
  descriptor.Height = halve(descriptor.Height, false);
  descriptor.Depth = halve(descriptor.Depth, layered);
  return descriptor;
}

}  // namespace

unsigned ElementSize(CUarray_format format, unsigned channels) {
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
    case CU_AD_FORMAT_UNORM_INT8X1:
    case CU_AD_FORMAT_SNORM_INT8X1:
    case CU_AD_FORMAT_UNORM_INT8X2:
    case CU_AD_FORMAT_SNORM_INT8X2:
    case CU_AD_FORMAT_UNORM_INT8X4:
    case CU_AD_FORMAT_SNORM_INT8X4:
    // One byte for each pixel in blocks of 4 by 4.
    case CU_AD_FORMAT_BC2_UNORM:
    case CU_AD_FORMAT_BC2_UNORM_SRGB:
    case CU_AD_FORMAT_BC3_UNORM:
    case CU_AD_FORMAT_BC3_UNORM_SRGB:
    case CU_AD_FORMAT_BC5_UNORM:
    case CU_AD_FORMAT_BC5_SNORM:
    case CU_AD_FORMAT_BC6H_UF16:
    case CU_AD_FORMAT_BC6H_SF16:
    case CU_AD_FORMAT_BC7_UNORM:
    case CU_AD_FORMAT_BC7_UNORM_SRGB:
      return channels;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
    case CU_AD_FORMAT_UNORM_INT16X1:
    case CU_AD_FORMAT_SNORM_INT16X1:
    case CU_AD_FORMAT_UNORM_INT16X2:
    case CU_AD_FORMAT_SNORM_INT16X2:
    case CU_AD_FORMAT_UNORM_INT16X4:
    case CU_AD_FORMAT_SNORM_INT16X4:
      return 2 * channels;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
    case CU_AD_FORMAT_UNORM_INT_101010_2:
      return 4 * channels;
    default:
      return 0;
  }
}

uint64_t LevelSize(const CUDA_ARRAY3D_DESCRIPTOR& descriptor, unsigned element_size) {
  return descriptor.Width * std::max<size_t>(descriptor.Height, 1) *
         std::max<size_t>(descriptor.Depth, 1) * element_size;
}

CUresult MakeArray(Context* context, const CUDA_ARRAY3D_DESCRIPTOR& descriptor, unsigned levels,
                   std::shared_ptr<Array>* out) {
  const bool known_channels =
      descriptor.NumChannels == 1 || descriptor.NumChannels == 2 || descriptor.NumChannels == 4;
  const unsigned element_size = ElementSize(descriptor.Format, descriptor.NumChannels);
  if (descriptor.Width == 0 || !known_channels) return CUDA_ERROR_INVALID_VALUE;
  if (element_size == 0) return CUDA_ERROR_NOT_SUPPORTED;
  const auto array = std::make_shared<Array>();
  array->context = context;
  array->descriptor = descriptor;
  array->element_size = element_size;
  for (unsigned level = 0; level < std::max(levels, 1U); ++level) {
    array->size += LevelSize(Halved(descriptor, level), element_size);
  }
  // Memory of these comes later, by cuMemMapArrayAsync or by what is mapped.
  const bool unbacked =
      (descriptor.Flags & (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING)) != 0;
  if (!unbacked) {
    array->reserved = array->size;
    array->address = context->device_heap->Allocate(array->reserved);
    if (array->address == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  } else {
    array->size = 0;
  }
  uint64_t place = array->address;
  for (unsigned level = 0; level < levels; ++level) {
    const auto part = std::make_shared<Array>();
    part->context = context;
    part->descriptor = Halved(descriptor, level);
    part->element_size = element_size;
    part->size = LevelSize(part->descriptor, element_size);
    part->address = place;
    part->owner = false;
    if (place != 0) place += part->size;
    TheDriver().arrays.Add(part);
    array->levels.push_back(part);
  }
  Tell(*array, levels > 0);
  *out = array;
  return CUDA_SUCCESS;
}

void DestroyArray(Array* array) {
  Driver& driver = TheDriver();
  if (array->address != 0 && array->owner) {
    array->context->device_heap->FreeAndRelease(array->address, array->reserved);
  }
  for (const auto& level : array->levels) driver.arrays.Remove(driver.arrays.HandleOf(level.get()));
  driver.ledger.Remove(array->levels.empty() ? "array" : "mipmap",
                       reinterpret_cast<uint64_t>(array));
}

void DestroyArraysOf(const Context* context) {
  Driver& driver = TheDriver();
  for (const auto& array : driver.mipmaps.All()) {
    if (array->context != context) continue;
    DestroyArray(array.get());
    driver.mipmaps.Remove(driver.mipmaps.HandleOf(array.get()));
  }
  for (const auto& array : driver.arrays.All()) {
    if (array->context != context) continue;
    DestroyArray(array.get());
    driver.arrays.Remove(driver.arrays.HandleOf(array.get()));
  }
}

}  // namespace gputrace::sim

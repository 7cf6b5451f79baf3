// SPDX-License-Identifier: Apache-2.0
// Arrays, mipmapped arrays, and the textures and surfaces that look at them.
#include <algorithm>
#include <map>

#include "bodies.h"
#include "simulator/driver/array.h"
#include "simulator/driver/context.h"
#include "simulator/driver/physical_memory.h"

namespace gputrace::sim {
namespace {

// Of memory that arrays could be bound to. Assumed.
constexpr uint64_t kArrayAlignment = 64 * 1024;

CUresult Create(CUarray* handle, const CUDA_ARRAY3D_DESCRIPTOR& descriptor) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(CurrentContext(&context));
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Array> array;
  GPUSIM_TRY(MakeArray(context, descriptor, 0, &array));
  *handle = TheDriver().arrays.Add(array);
  return CUDA_SUCCESS;
}

CUresult Requirements(const std::shared_ptr<Array>& array, CUdevice ordinal,
                      CUDA_ARRAY_MEMORY_REQUIREMENTS* out) {
  Device* device = nullptr;
  GPUSIM_TRY(FindDevice(ordinal, &device));
  if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = {};
  uint64_t size = LevelSize(array->descriptor, array->element_size);
  if (!array->levels.empty()) size = 0;
  for (const auto& level : array->levels) size += level->size;
  out->size = size;
  out->alignment = kArrayAlignment;
  return CUDA_SUCCESS;
}

struct Texture {
  CUDA_RESOURCE_DESC resource;
  CUDA_TEXTURE_DESC texture;
  CUDA_RESOURCE_VIEW_DESC view;
};
// Textures and surfaces by their numbers.
std::map<uint64_t, Texture>& Textures() {
  static auto* instance = new std::map<uint64_t, Texture>;
  return *instance;
}

template <typename Part>
CUresult ReadTexture(uint64_t number, Part Texture::*part, Part* out) {
  const Guard guard;
  const auto found = Textures().find(number);
  if (found == Textures().end() || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = found->second.*part;
  return CUDA_SUCCESS;
}

CUresult AddTexture(const CUDA_RESOURCE_DESC* resource, const CUDA_TEXTURE_DESC* texture,
                    const CUDA_RESOURCE_VIEW_DESC* view, unsigned long long* number) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(CurrentContext(&context));
  if (resource == nullptr || number == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *number = TheDriver().next_id++;
  Texture& added = Textures()[*number];
  added.resource = *resource;
  if (texture != nullptr) added.texture = *texture;
  if (view != nullptr) added.view = *view;
  return CUDA_SUCCESS;
}

CUresult RemoveTexture(uint64_t number) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(CurrentContext(&context));
  return Textures().erase(number) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

extern "C" {

CUresult gpusim_cuArray3DCreate_v2(CUarray* pHandle,
                                   const CUDA_ARRAY3D_DESCRIPTOR* pAllocateArray) {
  return pAllocateArray == nullptr ? CUDA_ERROR_INVALID_VALUE : Create(pHandle, *pAllocateArray);
}

CUresult gpusim_cuArrayCreate_v2(CUarray* pHandle, const CUDA_ARRAY_DESCRIPTOR* pAllocateArray) {
  if (pAllocateArray == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
  descriptor.Width = pAllocateArray->Width;
  descriptor.Height = pAllocateArray->Height;
  descriptor.Format = pAllocateArray->Format;
  descriptor.NumChannels = pAllocateArray->NumChannels;
  return Create(pHandle, descriptor);
}

CUresult gpusim_cuArrayDestroy(CUarray hArray) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(CurrentContext(&context));
  if (TheDriver().arrays.Find(hArray) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  SynchronizeContext(context);
  const auto array = TheDriver().arrays.Find(hArray);
  if (array == nullptr || !array->owner) return CUDA_ERROR_INVALID_HANDLE;
  DestroyArray(array.get());
  TheDriver().arrays.Remove(hArray);
  return CUDA_SUCCESS;
}

CUresult gpusim_cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR* pArrayDescriptor,
                                          CUarray hArray) {
  const Guard guard;
  const auto array = TheDriver().arrays.Find(hArray);
  if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (pArrayDescriptor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pArrayDescriptor = array->descriptor;
  return CUDA_SUCCESS;
}

CUresult gpusim_cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR* pArrayDescriptor, CUarray hArray) {
  CUDA_ARRAY3D_DESCRIPTOR full = {};
  GPUSIM_TRY(gpusim_cuArray3DGetDescriptor_v2(&full, hArray));
  if (pArrayDescriptor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pArrayDescriptor = {full.Width, full.Height, full.Format, full.NumChannels};
  return CUDA_SUCCESS;
}

CUresult gpusim_cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS* memoryRequirements,
                                             CUarray array, CUdevice device) {
  const Guard guard;
  return Requirements(TheDriver().arrays.Find(array), device, memoryRequirements);
}

CUresult gpusim_cuMipmappedArrayGetMemoryRequirements(
    CUDA_ARRAY_MEMORY_REQUIREMENTS* memoryRequirements, CUmipmappedArray mipmap, CUdevice device) {
  const Guard guard;
  return Requirements(TheDriver().mipmaps.Find(mipmap), device, memoryRequirements);
}

CUresult gpusim_cuMipmappedArrayCreate(CUmipmappedArray* pHandle,
                                       const CUDA_ARRAY3D_DESCRIPTOR* pMipmappedArrayDesc,
                                       unsigned numMipmapLevels) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(CurrentContext(&context));
  if (pHandle == nullptr || pMipmappedArrayDesc == nullptr || numMipmapLevels == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const size_t longest = std::max({pMipmappedArrayDesc->Width, pMipmappedArrayDesc->Height,
                                   pMipmappedArrayDesc->Depth, size_t{1}});
  // More levels than halvings are cut off (header).
  const auto most = static_cast<unsigned>(64 - __builtin_clzl(longest));
  std::shared_ptr<Array> array;
  GPUSIM_TRY(MakeArray(context, *pMipmappedArrayDesc, std::min(numMipmapLevels, most), &array));
  *pHandle = TheDriver().mipmaps.Add(array);
  return CUDA_SUCCESS;
}

CUresult gpusim_cuMipmappedArrayGetLevel(CUarray* pLevelArray, CUmipmappedArray hMipmappedArray,
                                         unsigned level) {
  const Guard guard;
  const auto array = TheDriver().mipmaps.Find(hMipmappedArray);
  if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (pLevelArray == nullptr || level >= array->levels.size()) return CUDA_ERROR_INVALID_VALUE;
  *pLevelArray = TheDriver().arrays.HandleOf(array->levels[level].get());
  return CUDA_SUCCESS;
}

CUresult gpusim_cuMipmappedArrayDestroy(CUmipmappedArray hMipmappedArray) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(CurrentContext(&context));
  const auto array = TheDriver().mipmaps.Find(hMipmappedArray);
  if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  DestroyArray(array.get());
  TheDriver().mipmaps.Remove(hMipmappedArray);
  return CUDA_SUCCESS;
}

CUresult gpusim_cuTexObjectCreate(CUtexObject* pTexObject, const CUDA_RESOURCE_DESC* pResDesc,
                                  const CUDA_TEXTURE_DESC* pTexDesc,
                                  const CUDA_RESOURCE_VIEW_DESC* pResViewDesc) {
  return AddTexture(pResDesc, pTexDesc, pResViewDesc, pTexObject);
}
CUresult gpusim_cuTexObjectDestroy(CUtexObject texObject) { return RemoveTexture(texObject); }
CUresult gpusim_cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC* pResDesc, CUtexObject texObject) {
  return ReadTexture(texObject, &Texture::resource, pResDesc);
}
CUresult gpusim_cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC* pTexDesc, CUtexObject texObject) {
  return ReadTexture(texObject, &Texture::texture, pTexDesc);
}
CUresult gpusim_cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC* pResViewDesc,
                                               CUtexObject texObject) {
  return ReadTexture(texObject, &Texture::view, pResViewDesc);
}
CUresult gpusim_cuSurfObjectCreate(CUsurfObject* pSurfObject, const CUDA_RESOURCE_DESC* pResDesc) {
  return AddTexture(pResDesc, nullptr, nullptr, pSurfObject);
}
CUresult gpusim_cuSurfObjectDestroy(CUsurfObject surfObject) { return RemoveTexture(surfObject); }
CUresult gpusim_cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC* pResDesc, CUsurfObject surfObject) {
  return ReadTexture(surfObject, &Texture::resource, pResDesc);
}

}  // extern "C"

}  // namespace gputrace::sim

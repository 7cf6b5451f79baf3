// SPDX-License-Identifier: Apache-2.0
#include "interpose/hooks/collectors.h"

#include <elf.h>
#include <sys/stat.h>

#include <cstring>

#include "interpose/record/sys.h"
#include "interpose/resolve/driver.h"

namespace gputrace::interpose {
namespace {

// Of fatbinary.h in the CUDA toolkit.
constexpr uint32_t kFatBinaryMagic = 0xba55ed50u;
struct FatBinaryHeader {
  uint32_t magic;
  uint16_t version;
  uint16_t header_bytes;
  uint64_t content_bytes;
};
// The compiler registers images inside of this (fatBinaryCtl.h); `data` is a fat binary.
constexpr uint32_t kWrapperMagic = 0x466243b1u;
struct FatBinaryWrapper {
  uint32_t magic;
  uint32_t version;
  const void* data;
  void* file_name_or_fat_binaries;
};

constexpr size_t kMaxPtxBytes = 64u << 20;

// Looks no further than the first byte that differs: a program's text may be shorter than a number.
bool BeginsWith(const void* image, const void* magic, size_t size) {
  const auto* a = static_cast<const uint8_t*>(image);
  const auto* b = static_cast<const uint8_t*>(magic);
  for (size_t i = 0; i < size; ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

// Sections, or in what CUDA's tools write the program headers, come last.
uint64_t ElfBytes(const void* image) {
  Elf64_Ehdr header;
  memcpy(&header, image, sizeof(header));
  if (header.e_ident[EI_CLASS] != ELFCLASS64) return 0;
  const uint64_t sections = header.e_shoff + uint64_t{header.e_shnum} * header.e_shentsize;
  const uint64_t segments = header.e_phoff + uint64_t{header.e_phnum} * header.e_phentsize;
  return sections > segments ? sections : segments;
}

// 0 if it is no text: the driver will refuse it, and where it ends is not known.
uint64_t TextBytes(const char* text) {
  for (size_t i = 0; i < kMaxPtxBytes; ++i) {
    if (text[i] == '\0') return i;
    const auto byte = static_cast<uint8_t>(text[i]);
    if (byte < 0x20 && (byte < '\t' || byte > '\r')) return 0;
  }
  return 0;
}

uint64_t FormatBytes(CUarray_format format) {
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
      return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
      return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
      return 4;
    default:
      return 0;  // block-compressed and planar formats: only the driver knows
  }
}

uint64_t DescriptorBytes(const CUDA_ARRAY3D_DESCRIPTOR& descriptor) {
  const auto at_least_one = [](size_t n) { return n == 0 ? size_t{1} : n; };
  return descriptor.Width * at_least_one(descriptor.Height) * at_least_one(descriptor.Depth) *
         descriptor.NumChannels * FormatBytes(descriptor.Format);
}

bool HasNoMemory(const CUDA_ARRAY3D_DESCRIPTOR& descriptor) {
  return (descriptor.Flags & (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING)) != 0;
}

uint64_t DriverArrayBytes(CUarray array) {
  CUDA_ARRAY_MEMORY_REQUIREMENTS requirements{};
  CUdevice device = 0;
  if (driver().array_get_memory_requirements == nullptr || !CurrentDevice(&device) ||
      driver().array_get_memory_requirements(&requirements, array, device) != CUDA_SUCCESS) {
    return 0;
  }
  return requirements.size;
}

}  // namespace

uint64_t ImageBytes(const void* image) {
  if (image == nullptr) return 0;
  if (BeginsWith(image, &kWrapperMagic, sizeof(kWrapperMagic))) {
    image = static_cast<const FatBinaryWrapper*>(image)->data;
    if (image == nullptr) return 0;
  }
  if (BeginsWith(image, &kFatBinaryMagic, sizeof(kFatBinaryMagic))) {
    FatBinaryHeader header;
    memcpy(&header, image, sizeof(header));
    return header.header_bytes + header.content_bytes;
  }
  if (BeginsWith(image, ELFMAG, SELFMAG)) return ElfBytes(image);
  return TextBytes(static_cast<const char*>(image));
}

uint64_t FileBytes(const char* path) {
  if (path == nullptr) return 0;
  // Not opened: that would wait where the path is a pipe's.
  struct stat info {};
  const long error =
      sys::Call(SYS_newfstatat, AT_FDCWD, sys::Pointer(path), sys::Pointer(&info), 0);
  return error < 0 || !S_ISREG(info.st_mode) ? 0 : static_cast<uint64_t>(info.st_size);
}

uint64_t ArrayBytes(CUarray array) {
  if (const uint64_t bytes = DriverArrayBytes(array); bytes != 0) return bytes;
  CUDA_ARRAY3D_DESCRIPTOR descriptor{};
  if (driver().array_3d_get_descriptor == nullptr ||
      driver().array_3d_get_descriptor(&descriptor, array) != CUDA_SUCCESS) {
    return 0;
  }
  return DescriptorBytes(descriptor);
}

uint64_t Array3DBytes(CUarray array, const CUDA_ARRAY3D_DESCRIPTOR& descriptor) {
  if (HasNoMemory(descriptor)) return 0;
  const uint64_t bytes = DriverArrayBytes(array);
  return bytes != 0 ? bytes : DescriptorBytes(descriptor);
}

uint64_t MipmapBytes(CUmipmappedArray array, const CUDA_ARRAY3D_DESCRIPTOR& descriptor) {
  if (HasNoMemory(descriptor)) return 0;
  CUDA_ARRAY_MEMORY_REQUIREMENTS requirements{};
  CUdevice device = 0;
  if (driver().mipmap_get_memory_requirements != nullptr && CurrentDevice(&device) &&
      driver().mipmap_get_memory_requirements(&requirements, array, device) == CUDA_SUCCESS) {
    return requirements.size;
  }
  // Each level has a quarter (in two dimensions) of the one before: at most a third more in all.
  return DescriptorBytes(descriptor) * 4 / 3;
}

uint64_t AllocationBytes(CUdeviceptr address) {
  size_t size = 0;
  if (driver().mem_get_address_range == nullptr ||
      driver().mem_get_address_range(nullptr, &size, address) != CUDA_SUCCESS) {
    return 0;
  }
  return size;
}

uint64_t HashBytes(const void* data, size_t size) {
  if (data == nullptr) return 0;
  const auto* bytes = static_cast<const uint8_t*>(data);
  uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (size_t i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * 0x100000001b3u;
  return hash == 0 ? 1 : hash;
}

uint64_t PoolAttributeValue(CUmemPool_attribute attribute, const void* value) {
  switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      return ReadInt(value);
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      return ReadU64(value);
    default:
      return 0;  // of a later driver: its width is not known
  }
}

uint64_t ShareableHandle(CUmemAllocationHandleType type, const void* handle) {
  if (type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return ReadInt(handle);
  if (type == CU_MEM_HANDLE_TYPE_FABRIC) return HashBytes(handle, sizeof(CUmemFabricHandle));
  return 0;
}

uint64_t ImportedHandle(CUmemAllocationHandleType type, const void* handle) {
  // Importing takes the descriptor itself in place of the pointer.
  if (type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return reinterpret_cast<uint64_t>(handle);
  return ShareableHandle(type, handle);
}

uint64_t ReadU64(const void* value) {
  uint64_t result = 0;
  if (value != nullptr) memcpy(&result, value, sizeof(result));
  return result;
}

uint64_t ReadInt(const void* value) {
  int result = 0;
  if (value != nullptr) memcpy(&result, value, sizeof(result));
  return static_cast<uint64_t>(result);
}

uint64_t NodeBytes(const CUgraphNodeParams& node) {
  return node.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC ? node.alloc.bytesize : 0;
}

uint64_t NodeAddress(const CUgraphNodeParams& node) {
  if (node.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) return node.alloc.dptr;
  if (node.type == CU_GRAPH_NODE_TYPE_MEM_FREE) return node.free.dptr;
  return 0;
}

}  // namespace gputrace::interpose

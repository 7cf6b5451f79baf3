// SPDX-License-Identifier: Apache-2.0
// Arrays and mipmapped arrays; modules and libraries.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/truth/player.h"

namespace gputrace::truth {
namespace {

constexpr CUarray_format kFormats[] = {CU_AD_FORMAT_UNSIGNED_INT8, CU_AD_FORMAT_FLOAT,
                                       CU_AD_FORMAT_HALF, CU_AD_FORMAT_BC7_UNORM};

CUDA_ARRAY3D_DESCRIPTOR Descriptor(const Turn& t) {
  CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
  descriptor.Width = t.number(1);
  descriptor.Height = t.number(2);
  descriptor.Depth = t.number(3) % 8;
  descriptor.Format = kFormats[t.number(4) % 4];
  descriptor.NumChannels = 1U << (t.number(4) / 4 % 4);  // 8 is refused
  if (t.number(4) / 16 == 1) descriptor.Flags = CUDA_ARRAY3D_SPARSE;
  if (t.number(4) / 16 == 2) descriptor.Flags = CUDA_ARRAY3D_LAYERED;
  return descriptor;
}

void CreateArray(Turn& t) {
  const CUDA_ARRAY3D_DESCRIPTOR full = Descriptor(t);
  const CUDA_ARRAY_DESCRIPTOR descriptor = {full.Width, full.Height, full.Format, full.NumChannels};
  CUarray array = nullptr;
  t.FillInContext(0, cuArrayCreate_v2(&array, &descriptor), array);
}

void CreateArray3D(Turn& t) {
  const CUDA_ARRAY3D_DESCRIPTOR descriptor = Descriptor(t);
  CUarray array = nullptr;
  t.FillInContext(0, cuArray3DCreate_v2(&array, &descriptor), array);
}

void CreateMipmap(Turn& t) {
  const CUDA_ARRAY3D_DESCRIPTOR descriptor = Descriptor(t);
  CUmipmappedArray array = nullptr;
  const auto levels = static_cast<unsigned>(t.number(3) / 8 + 1);
  t.FillInContext(0, cuMipmappedArrayCreate(&array, &descriptor, levels), array);
}

constexpr char kPtx[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .global .align 4 .b8 table[1000];\n.visible .entry run() { ret; }\n";
constexpr char kNoImage[] = "this is no image";

// A container, as compilers make them, with nothing in it that is ever looked at.
const void* Container() {
  static const auto* const kContainer = [] {
    auto* words = new uint64_t[16]();
    const uint32_t magic = 0xba55ed50;
    const uint16_t version = 1;
    const uint16_t header = 16;
    memcpy(words, &magic, 4);
    memcpy(reinterpret_cast<char*>(words) + 4, &version, 2);
    memcpy(reinterpret_cast<char*>(words) + 6, &header, 2);
    words[1] = 112;
    return words;
  }();
  return kContainer;
}

const void* Image(uint64_t which) {
  if (which == 0) return kNoImage;
  return which % 2 == 1 ? kPtx : Container();
}

// Where an image lies as a file.
const char* ImageFile() {
  static const auto* const kPath = [] {
    const int file = memfd_create("image", 0);
    if (write(file, kPtx, strlen(kPtx)) < 0) abort();
    return new std::string("/proc/self/fd/" + std::to_string(file));
  }();
  return kPath->c_str();
}

void LoadModule(Turn& t) {
  CUmodule module = nullptr;
  const void* image = Image(t.number(1));
  CUresult result = CUDA_SUCCESS;
  switch (t.number(2)) {
    case 0:
      result = cuModuleLoadData(&module, image);
      break;
    case 1:
      result = cuModuleLoadDataEx(&module, image, 0, nullptr, nullptr);
      break;
    case 2:
      result = cuModuleLoadFatBinary(&module, image);
      break;
    case 3:
      result = cuModuleLoad(&module, ImageFile());
      break;
    default:
      result = cuModuleLoad(&module, "/nowhere/image.cubin");
  }
  t.FillInContext(0, result, module);
}

void LoadLibrary(Turn& t) {
  CUlibrary library = nullptr;
  CUresult result = CUDA_SUCCESS;
  if (t.number(1) == 7) {
    result = cuLibraryLoadFromFile(&library, ImageFile(), nullptr, nullptr, 0, nullptr, nullptr, 0);
  } else {
    const void* image = Image(t.number(1));
    result = cuLibraryLoadData(&library, image, nullptr, nullptr, 0, nullptr, nullptr, 0);
  }
  t.Fill(0, result, library);
}

}  // namespace

void AddArrayOperations(std::vector<Operation>* operations) {
  const auto add = [operations](auto... parts) { operations->emplace_back(parts...); };
  using Arguments = std::vector<Argument>;
  add("ArrayCreate", 4, When::kAnytime,
      Arguments{New(Type::kArray), Below(300), Below(100), Below(8), Below(48)}, CreateArray);
  add("Array3DCreate", 4, When::kAnytime,
      Arguments{New(Type::kArray), Below(300), Below(100), Below(8), Below(48)}, CreateArray3D);
  add("ArrayDestroy", 8, When::kAnytime, Arguments{Take(Type::kArray)}, [](Turn& t) {
    cuArrayDestroy(t.as<CUarray>(0));
    t.Empty(0);
  });
  add("ArrayDestroyAgain", 1, When::kSerial, Arguments{Below(8)}, [](Turn& t) {
    const uint64_t array = t.player.Stale(Type::kArray, t.number(0));
    if (cuArrayDestroy(reinterpret_cast<CUarray>(array)) == CUDA_SUCCESS) {
      t.player.ForgetValue(array);
    }
  });
  add("MipmappedArrayCreate", 3, When::kAnytime,
      Arguments{New(Type::kMipmap), Below(300), Below(100), Below(24), Below(48)}, CreateMipmap);
  add("MipmappedArrayDestroy", 3, When::kAnytime, Arguments{Take(Type::kMipmap)}, [](Turn& t) {
    cuMipmappedArrayDestroy(t.as<CUmipmappedArray>(0));
    t.Empty(0);
  });
  // A level is no array of its own.
  add("ArrayDestroyLevel", 1, When::kAnytime, Arguments{Use(Type::kMipmap)}, [](Turn& t) {
    CUarray level = nullptr;
    cuMipmappedArrayGetLevel(&level, t.as<CUmipmappedArray>(0), 0);
    cuArrayDestroy(level);
  });
}

void AddModuleOperations(std::vector<Operation>* operations) {
  const auto add = [operations](auto... parts) { operations->emplace_back(parts...); };
  using Arguments = std::vector<Argument>;
  add("ModuleLoad", 3, When::kAnytime, Arguments{New(Type::kModule), Below(8), Below(5)},
      LoadModule);
  add("ModuleUnload", 2, When::kAnytime, Arguments{Take(Type::kModule)}, [](Turn& t) {
    cuModuleUnload(t.as<CUmodule>(0));
    t.Empty(0);
  });
  add("ModuleGetGlobal", 1, When::kAnytime, Arguments{Use(Type::kModule)}, [](Turn& t) {
    CUdeviceptr address = 0;
    size_t size = 0;
    cuModuleGetGlobal_v2(&address, &size, t.as<CUmodule>(0), "table");
  });
  // A variable of a module is no allocation.
  add("MemFreeOfGlobal", 1, When::kAnytime, Arguments{Use(Type::kModule)}, [](Turn& t) {
    CUdeviceptr address = 0;
    cuModuleGetGlobal_v2(&address, nullptr, t.as<CUmodule>(0), "table");
    cuMemFree_v2(address);
  });
  add("LibraryLoad", 2, When::kAnytime, Arguments{New(Type::kLibrary), Below(8)}, LoadLibrary);
  add("LibraryUnload", 2, When::kAnytime, Arguments{Take(Type::kLibrary)}, [](Turn& t) {
    cuLibraryUnload(t.as<CUlibrary>(0));
    t.Empty(0);
  });
  // Loads a module into the current context, unseen.
  add("LibraryGetGlobal", 2, When::kAnytime, Arguments{Use(Type::kLibrary)}, [](Turn& t) {
    CUdeviceptr address = 0;
    size_t size = 0;
    cuLibraryGetGlobal(&address, &size, t.as<CUlibrary>(0), "table");
  });
}

}  // namespace gputrace::truth

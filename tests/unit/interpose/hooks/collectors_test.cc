// SPDX-License-Identifier: Apache-2.0
#include "interpose/hooks/collectors.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "interpose/resolve/driver.h"

namespace gputrace::interpose {

static Driver g_driver;
const Driver& driver() { return g_driver; }

namespace {

// Text right in front of memory that cannot be read.
class GuardedText {
 public:
  explicit GuardedText(const std::string& text) {
    pages_ = static_cast<char*>(
        mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(pages_ + kPage, kPage, PROT_NONE);
    text_ = pages_ + kPage - text.size() - 1;
    memcpy(text_, text.c_str(), text.size() + 1);
  }
  ~GuardedText() { munmap(pages_, 2 * kPage); }
  GuardedText(const GuardedText&) = delete;
  GuardedText& operator=(const GuardedText&) = delete;
  const char* text() const { return text_; }

 private:
  static constexpr size_t kPage = 4096;
  char* pages_;
  char* text_;
};

TEST(ImageBytes, OfNothing) { EXPECT_EQ(ImageBytes(nullptr), 0u); }

TEST(ImageBytes, OfTextIsItsLength) {
  EXPECT_EQ(ImageBytes(".version 8.0\n\t.target sm_90\n"), 28u);
  for (const char* text : {"", ".", "ab",
                           "\x7f"
                           "E",
                           "P\xed", "\xb1\x43"}) {
    const GuardedText guarded(text);
    const bool is_text = static_cast<unsigned char>(*text) >= 0x20 || *text == '\0';
    EXPECT_EQ(ImageBytes(guarded.text()), is_text ? strlen(text) : 0u) << text;
  }
}

TEST(ImageBytes, OfWhatIsNeither) { EXPECT_EQ(ImageBytes("abc\x01\x02\x03"), 0u); }

TEST(ImageBytes, OfElfIsWhereTheLastHeaderEnds) {
  Elf64_Ehdr header{};
  memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_shoff = 1000;
  header.e_shnum = 3;
  header.e_shentsize = 64;
  EXPECT_EQ(ImageBytes(&header), 1192u);
  header.e_phoff = 1192;
  header.e_phnum = 2;
  header.e_phentsize = 56;
  EXPECT_EQ(ImageBytes(&header), 1304u);
  header.e_ident[EI_CLASS] = ELFCLASS32;
  EXPECT_EQ(ImageBytes(&header), 0u);
}

struct FatBinary {
  uint32_t magic = 0xba55ed50u;
  uint16_t version = 1;
  uint16_t header_bytes = 16;
  uint64_t content_bytes = 5000;
};
struct Wrapper {
  uint32_t magic = 0x466243b1u;
  uint32_t version = 1;
  const void* data = nullptr;
  void* other = nullptr;
};

TEST(ImageBytes, OfFatBinaries) {
  const FatBinary fat;
  EXPECT_EQ(ImageBytes(&fat), 5016u);
  Wrapper wrapper;
  EXPECT_EQ(ImageBytes(&wrapper), 0u);
  wrapper.data = &fat;
  EXPECT_EQ(ImageBytes(&wrapper), 5016u);
  wrapper.data = &wrapper;
  ImageBytes(&wrapper);  // ends
}

TEST(FileBytes, OfFilesAndOtherThings) {
  const std::string folder = ::testing::TempDir();
  const std::string file = folder + "collectors_file";
  FILE* out = fopen(file.c_str(), "w");
  fputs("12345", out);
  fclose(out);
  EXPECT_EQ(FileBytes(file.c_str()), 5u);
  const std::string pipe = folder + "collectors_pipe";
  unlink(pipe.c_str());
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(FileBytes(pipe.c_str()), 0u) << "and does not wait for a writer";
  EXPECT_EQ(FileBytes(folder.c_str()), 0u);
  EXPECT_EQ(FileBytes("/no/such/file"), 0u);
  EXPECT_EQ(FileBytes(nullptr), 0u);
  unlink(pipe.c_str());
  unlink(file.c_str());
}

class Arrays : public ::testing::Test {
 protected:
  Arrays() { g_driver = {}; }
  static CUDA_ARRAY3D_DESCRIPTOR Descriptor(unsigned flags = 0) {
    CUDA_ARRAY3D_DESCRIPTOR descriptor{};
    descriptor.Width = 100;
    descriptor.Height = 10;
    descriptor.Format = CU_AD_FORMAT_FLOAT;
    descriptor.NumChannels = 2;
    descriptor.Flags = flags;
    return descriptor;
  }
  static void AnswerRequirements() {
    g_driver.ctx_get_device = [](CUdevice* device) {
      *device = 1;
      return CUDA_SUCCESS;
    };
    g_driver.array_get_memory_requirements = [](CUDA_ARRAY_MEMORY_REQUIREMENTS* out, CUarray,
                                                CUdevice device) {
      out->size = device == 1 ? 65536 : 0;
      return CUDA_SUCCESS;
    };
    g_driver.mipmap_get_memory_requirements = [](CUDA_ARRAY_MEMORY_REQUIREMENTS* out,
                                                 CUmipmappedArray, CUdevice) {
      out->size = 131072;
      return CUDA_SUCCESS;
    };
  }
};

TEST_F(Arrays, AreAsLargeAsTheDriverSays) {
  AnswerRequirements();
  EXPECT_EQ(ArrayBytes(nullptr), 65536u);
  EXPECT_EQ(Array3DBytes(nullptr, Descriptor()), 65536u);
  EXPECT_EQ(MipmapBytes(nullptr, Descriptor()), 131072u);
}

TEST_F(Arrays, AreAsLargeAsTheirDescriptorIfTheDriverDoesNotSay) {
  EXPECT_EQ(ArrayBytes(nullptr), 0u);
  EXPECT_EQ(Array3DBytes(nullptr, Descriptor()), 8000u);
  EXPECT_EQ(MipmapBytes(nullptr, Descriptor()), 10666u);
  g_driver.array_3d_get_descriptor = [](CUDA_ARRAY3D_DESCRIPTOR* out, CUarray) {
    *out = Descriptor();
    return CUDA_SUCCESS;
  };
  EXPECT_EQ(ArrayBytes(nullptr), 8000u);
  AnswerRequirements();
  g_driver.ctx_get_device = [](CUdevice*) { return CUDA_ERROR_INVALID_CONTEXT; };
  EXPECT_EQ(ArrayBytes(nullptr), 8000u);
}

TEST_F(Arrays, WithoutMemoryOfTheirOwnHaveNone) {
  AnswerRequirements();
  EXPECT_EQ(Array3DBytes(nullptr, Descriptor(CUDA_ARRAY3D_SPARSE)), 0u);
  EXPECT_EQ(MipmapBytes(nullptr, Descriptor(CUDA_ARRAY3D_DEFERRED_MAPPING)), 0u);
}

TEST_F(Arrays, OfFormatsThatOnlyTheDriverKnowsHaveNoSizeOfTheirOwn) {
  CUDA_ARRAY3D_DESCRIPTOR descriptor = Descriptor();
  descriptor.Format = CU_AD_FORMAT_BC7_UNORM;
  EXPECT_EQ(Array3DBytes(nullptr, descriptor), 0u);
}

TEST(Allocations, AreAsLargeAsTheDriverSays) {
  EXPECT_EQ(AllocationBytes(0x1000), 0u) << "there is no driver to ask";
  g_driver.mem_get_address_range = [](CUdeviceptr*, size_t* size, CUdeviceptr address) {
    if (address != 0x1000) return CUDA_ERROR_INVALID_VALUE;
    *size = 77;
    return CUDA_SUCCESS;
  };
  EXPECT_EQ(AllocationBytes(0x1000), 77u);
  EXPECT_EQ(AllocationBytes(0x2000), 0u);
  g_driver = {};
}

TEST(Handles, TheSameBytesGiveTheSameNonzeroValue) {
  const CUipcMemHandle a{{1, 2, 3}};
  const CUipcMemHandle b{{1, 2, 4}};
  EXPECT_EQ(HashBytes(&a, sizeof(a)), HashBytes(&a, sizeof(a)));
  EXPECT_NE(HashBytes(&a, sizeof(a)), HashBytes(&b, sizeof(b)));
  EXPECT_NE(HashBytes(&a, sizeof(a)), 0u);
  EXPECT_EQ(HashBytes(nullptr, 64), 0u);
}

TEST(Handles, ThatCanBeSharedAreNumbersByTheirType) {
  const int descriptor = 17;
  const CUmemFabricHandle fabric{};
  EXPECT_EQ(ShareableHandle(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, &descriptor), 17u);
  EXPECT_EQ(ShareableHandle(CU_MEM_HANDLE_TYPE_FABRIC, &fabric),
            HashBytes(&fabric, sizeof(fabric)));
  EXPECT_EQ(ShareableHandle(CU_MEM_HANDLE_TYPE_WIN32, &descriptor), 0u);
  EXPECT_EQ(ShareableHandle(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, nullptr), 0u);
  EXPECT_EQ(ImportedHandle(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, reinterpret_cast<void*>(17)),
            17u);
}

TEST(PoolAttributes, AreAsWideAsTheyAre) {
  struct {
    int value = 1;
    int beyond = -1;
  } narrow;
  const uint64_t wide = 5ull << 32;
  EXPECT_EQ(PoolAttributeValue(CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &narrow.value), 1u);
  EXPECT_EQ(PoolAttributeValue(CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &wide), wide);
  EXPECT_EQ(PoolAttributeValue(static_cast<CUmemPool_attribute>(999), &wide), 0u);
  EXPECT_EQ(PoolAttributeValue(CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, nullptr), 0u);
}

TEST(GraphNodes, ThatTouchMemory) {
  CUgraphNodeParams node{};
  node.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
  node.alloc.bytesize = 4096;
  node.alloc.dptr = 0x1000;
  EXPECT_EQ(NodeBytes(node), 4096u);
  EXPECT_EQ(NodeAddress(node), 0x1000u);
  node = {};
  node.type = CU_GRAPH_NODE_TYPE_MEM_FREE;
  node.free.dptr = 0x2000;
  EXPECT_EQ(NodeBytes(node), 0u);
  EXPECT_EQ(NodeAddress(node), 0x2000u);
  node.type = CU_GRAPH_NODE_TYPE_KERNEL;
  EXPECT_EQ(NodeAddress(node), 0u);
}

}  // namespace
}  // namespace gputrace::interpose

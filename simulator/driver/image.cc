// SPDX-License-Identifier: Apache-2.0
#include "simulator/driver/image.h"

#include <elf.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>

namespace gputrace::sim {
namespace {

// In front of a container's parts: magic, version, size of this header, size of what follows. What
// __fatBinC_Wrapper_t points to. Documented by the CUDA runtime's fatbinary_section.h only in part.
struct ContainerHeader {
  uint32_t magic;
  uint16_t version;
  uint16_t header_size;
  uint64_t payload_size;
};
constexpr uint32_t kContainerMagic = 0xba55ed50;
// The structure that compilers put into programs, with a pointer to a container.
struct Wrapper {
  uint32_t magic;
  uint32_t version;
  const void* container;
};
constexpr uint32_t kWrapperMagic = 0x466243b1;
// Text without an end is not looked for any further.
constexpr size_t kMaxText = size_t{64} << 20;

void ReadElf(const unsigned char* bytes, Image* image) {
  Elf64_Ehdr header;
  memcpy(&header, bytes, sizeof(header));
  const auto section = [&](unsigned index) {
    Elf64_Shdr s;
    memcpy(&s, bytes + header.e_shoff + index * sizeof(s), sizeof(s));
    return s;
  };
  image->size = std::max(header.e_shoff + header.e_shnum * sizeof(Elf64_Shdr),
                         header.e_phoff + header.e_phnum * sizeof(Elf64_Phdr));
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr s = section(i);
    if (s.sh_type != SHT_NOBITS) image->size = std::max(image->size, s.sh_offset + s.sh_size);
    if (s.sh_type != SHT_SYMTAB || s.sh_link >= header.e_shnum) continue;
    const Elf64_Shdr strings = section(s.sh_link);
    for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= s.sh_size; at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      memcpy(&symbol, bytes + s.sh_offset + at, sizeof(symbol));
      const char* name = reinterpret_cast<const char*>(bytes) + strings.sh_offset + symbol.st_name;
      if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC) image->functions.insert(name);
      if (ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT) image->globals[name] = symbol.st_size;
    }
  }
  image->names_known = true;
}

// The next word of PTX: a name, a directive, a number, or one other character.
std::string_view NextWord(std::string_view* text) {
  const auto is_word = [](char c) {
    return isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '$' ||
           c == '%';
  };
  while (!text->empty()) {
    if (isspace(static_cast<unsigned char>(text->front())) != 0) {
      text->remove_prefix(1);
    } else if (text->starts_with("//")) {
      text->remove_prefix(std::min(text->find('\n'), text->size()));
    } else if (text->starts_with("/*")) {
      text->remove_prefix(std::min(text->find("*/"), text->size() - 2) + 2);
    } else {
      break;
    }
  }
  const auto end = std::find_if_not(text->begin(), text->end(), is_word);
  const size_t length = std::max<size_t>(static_cast<size_t>(end - text->begin()), 1);
  const std::string_view word = text->substr(0, length);
  text->remove_prefix(std::min(length, text->size()));
  return word;
}

// Bytes of a fundamental type: the number at its end is bits.
uint64_t TypeSize(std::string_view type) {
  const size_t digits = type.find_first_of("0123456789");
  if (!type.starts_with('.') || digits != 2) return 0;
  return strtoull(std::string(type.substr(digits)).c_str(), nullptr, 10) / 8;
}

// ".global .align 4 .b8 name[1024]": up to the name, then dimensions.
void ReadGlobal(std::string_view* text, Image* image) {
  uint64_t element = 0;
  std::string_view word = NextWord(text);
  while (word.starts_with('.')) {
    if (word == ".align") NextWord(text);
    element = std::max(element, TypeSize(word));
    word = NextWord(text);
  }
  const std::string name(word);
  uint64_t count = 1;
  for (word = NextWord(text); word == "["; word = NextWord(text)) {
    const std::string number(NextWord(text));
    if (number == "]") continue;
    count *= strtoull(number.c_str(), nullptr, 0);
    NextWord(text);
  }
  if (!name.empty() && element != 0) image->globals[name] = element * count;
}

void ReadPtx(std::string_view text, Image* image) {
  image->size = text.size();  // as the size of a file is: without an end mark
  image->names_known = true;
  while (!text.empty()) {
    const std::string_view word = NextWord(&text);
    if (word == ".entry") image->functions.emplace(NextWord(&text));
    if (word == ".global" || word == ".const") ReadGlobal(&text, image);
  }
}

// PTX begins, after comments, with ".version".
bool IsPtx(std::string_view text) { return NextWord(&text) == ".version"; }

}  // namespace

CUresult ReadImage(const void* data, Image* image) {
  if (data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto* bytes = static_cast<const unsigned char*>(data);
  uint32_t magic = 0;
  // Byte by byte: text may be shorter than a number.
  for (int i = 0; i < 4 && (i == 0 || bytes[i - 1] != 0); ++i) {
    magic |= uint32_t{bytes[i]} << (8 * i);
  }
  if (magic == kWrapperMagic) {
    Wrapper wrapper;
    memcpy(&wrapper, bytes, sizeof(wrapper));
    return ReadImage(wrapper.container, image);
  }
  if (magic == kContainerMagic) {
    ContainerHeader header;
    memcpy(&header, bytes, sizeof(header));
    image->size = header.header_size + header.payload_size;
    return CUDA_SUCCESS;
  }
  if (memcmp(&magic, ELFMAG, SELFMAG) == 0) {
    ReadElf(bytes, image);
    return CUDA_SUCCESS;
  }
  const char* text = static_cast<const char*>(data);
  const std::string_view whole(text, strnlen(text, kMaxText));
  if (!IsPtx(whole)) return CUDA_ERROR_INVALID_IMAGE;
  ReadPtx(whole, image);
  return CUDA_SUCCESS;
}

CUresult ReadImageFile(const char* path, Image* image) {
  if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::ifstream file(path, std::ios::binary);
  if (!file) return CUDA_ERROR_FILE_NOT_FOUND;
  std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return ReadImage(bytes.c_str(), image);
}

}  // namespace gputrace::sim

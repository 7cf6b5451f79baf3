// SPDX-License-Identifier: Apache-2.0
#include "interpose/resolve/elf_lookup.h"

#include <elf.h>
#include <sys/auxv.h>

#include <cstddef>
#include <initializer_list>

namespace gputrace::interpose {
namespace {

struct DynamicInfo {
  const ElfW(Sym)* symbols = nullptr;
  const char* strings = nullptr;
  const uint32_t* gnu_hash = nullptr;
  const uint32_t* sysv_hash = nullptr;
  const ElfW(Half)* versions = nullptr;
};

// The loader has relocated these pointers in most objects; in some (the vDSO) they are offsets still.
template <typename T>
const T* Relocated(const link_map* object, ElfW(Addr) value) {
  if (value < object->l_addr) value += object->l_addr;
  return reinterpret_cast<const T*>(value);
}

DynamicInfo ReadDynamic(const link_map* object) {
  DynamicInfo info;
  for (const ElfW(Dyn)* entry = object->l_ld; entry != nullptr && entry->d_tag != DT_NULL; ++entry) {
    switch (entry->d_tag) {
      case DT_SYMTAB:
        info.symbols = Relocated<ElfW(Sym)>(object, entry->d_un.d_ptr);
        break;
      case DT_STRTAB:
        info.strings = Relocated<char>(object, entry->d_un.d_ptr);
        break;
      case DT_GNU_HASH:
        info.gnu_hash = Relocated<uint32_t>(object, entry->d_un.d_ptr);
        break;
      case DT_HASH:
        info.sysv_hash = Relocated<uint32_t>(object, entry->d_un.d_ptr);
        break;
      case DT_VERSYM:
        info.versions = Relocated<ElfW(Half)>(object, entry->d_un.d_ptr);
        break;
      default:
        break;
    }
  }
  return info;
}

// Remembers the best definition seen: a symbol may be there in several versions, of which the one
// that is not hidden is the default.
struct Candidate {
  const ElfW(Sym)* symbol = nullptr;
  bool is_default = false;
};

void Consider(const DynamicInfo& info, uint32_t index, const char* name, Candidate* best) {
  constexpr ElfW(Half) kHiddenVersion = 0x8000;
  const ElfW(Sym)& symbol = info.symbols[index];
  const unsigned type = ELF64_ST_TYPE(symbol.st_info);
  if (symbol.st_shndx == SHN_UNDEF || symbol.st_value == 0 || type == STT_TLS) return;
  if (!SameName(info.strings + symbol.st_name, name)) return;
  const bool is_default = info.versions == nullptr || (info.versions[index] & kHiddenVersion) == 0;
  if (best->symbol == nullptr || (is_default && !best->is_default)) {
    *best = {&symbol, is_default};
  }
}

void SearchGnuHash(const DynamicInfo& info, const char* name, Candidate* best) {
  const uint32_t bucket_count = info.gnu_hash[0];
  const uint32_t first_symbol = info.gnu_hash[1];
  const uint32_t bloom_words = info.gnu_hash[2];
  const auto* bloom = reinterpret_cast<const ElfW(Addr)*>(info.gnu_hash + 4);
  const auto* buckets = reinterpret_cast<const uint32_t*>(bloom + bloom_words);
  const uint32_t* chain = buckets + bucket_count;
  uint32_t hash = 5381;
  for (const char* c = name; *c != '\0'; ++c) hash = hash * 33 + static_cast<uint8_t>(*c);
  if (bucket_count == 0) return;
  for (uint32_t i = buckets[hash % bucket_count]; i >= first_symbol && i != 0; ++i) {
    const uint32_t entry = chain[i - first_symbol];
    if ((entry | 1) == (hash | 1)) Consider(info, i, name, best);
    if ((entry & 1) != 0) break;
  }
}

void SearchSysvHash(const DynamicInfo& info, const char* name, Candidate* best) {
  const uint32_t symbol_count = info.sysv_hash[1];
  for (uint32_t i = 1; i < symbol_count; ++i) Consider(info, i, name, best);
}

const char* BaseName(const char* path) {
  const char* base = path;
  for (; *path != '\0'; ++path) {
    if (*path == '/') base = path + 1;
  }
  return base;
}

bool StartsWith(const char* text, const char* prefix) {
  for (; *prefix != '\0'; ++text, ++prefix) {
    if (*text != *prefix) return false;
  }
  return true;
}

bool Covers(const link_map* object, ElfW(Addr) address) {
  // Program headers are at the start of the first segment in what linkers make.
  const auto* header = reinterpret_cast<const ElfW(Ehdr)*>(object->l_addr);
  const bool is_main = object->l_name == nullptr || object->l_name[0] == '\0';
  const ElfW(Phdr)* program = nullptr;
  size_t count = 0;
  if (is_main) {
    program = reinterpret_cast<const ElfW(Phdr)*>(getauxval(AT_PHDR));
    count = getauxval(AT_PHNUM);
  } else if (object->l_addr != 0 && header->e_ident[EI_MAG0] == ELFMAG0 &&
             header->e_ident[EI_MAG1] == ELFMAG1) {
    program = reinterpret_cast<const ElfW(Phdr)*>(object->l_addr + header->e_phoff);
    count = header->e_phnum;
  }
  for (size_t i = 0; i < count; ++i) {
    const ElfW(Addr) start = object->l_addr + program[i].p_vaddr;
    if (program[i].p_type == PT_LOAD && address >= start && address < start + program[i].p_memsz) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool SameName(const char* name, const char* wanted) {
  while (*name == *wanted && *name != '\0') {
    ++name;
    ++wanted;
  }
  return *name == *wanted;
}

// The loader leaves its list's address in the program's DT_DEBUG entry.
const link_map* FirstObject() {
  const auto* program = reinterpret_cast<const ElfW(Phdr)*>(getauxval(AT_PHDR));
  const size_t count = getauxval(AT_PHNUM);
  ElfW(Addr) bias = 0;
  const ElfW(Dyn)* dynamic = nullptr;
  for (size_t i = 0; i < count; ++i) {
    if (program[i].p_type == PT_PHDR) bias = reinterpret_cast<ElfW(Addr)>(program) - program[i].p_vaddr;
  }
  for (size_t i = 0; i < count; ++i) {
    if (program[i].p_type == PT_DYNAMIC) {
      dynamic = reinterpret_cast<const ElfW(Dyn)*>(bias + program[i].p_vaddr);
    }
  }
  for (; dynamic != nullptr && dynamic->d_tag != DT_NULL; ++dynamic) {
    if (dynamic->d_tag == DT_DEBUG && dynamic->d_un.d_ptr != 0) {
      return reinterpret_cast<const r_debug*>(dynamic->d_un.d_ptr)->r_map;
    }
  }
  return nullptr;
}

const link_map* ObjectOf(const void* address) {
  for (const link_map* object = FirstObject(); object != nullptr; object = object->l_next) {
    if (Covers(object, reinterpret_cast<ElfW(Addr)>(address))) return object;
  }
  return nullptr;
}

const link_map* OwnObject() {
  static const link_map* own = nullptr;
  if (own == nullptr) own = ObjectOf(reinterpret_cast<const void*>(&OwnObject));
  return own;
}

void* FindInObject(const link_map* object, const char* name) {
  const DynamicInfo info = ReadDynamic(object);
  if (info.symbols == nullptr || info.strings == nullptr) return nullptr;
  Candidate best;
  if (info.gnu_hash != nullptr) {
    SearchGnuHash(info, name, &best);
  } else if (info.sysv_hash != nullptr) {
    SearchSysvHash(info, name, &best);
  }
  if (best.symbol == nullptr) return nullptr;
  return reinterpret_cast<void*>(object->l_addr + best.symbol->st_value);
}

void* FindAfter(const link_map* object, const char* name) {
  const link_map* next = object == nullptr ? FirstObject() : object->l_next;
  for (; next != nullptr; next = next->l_next) {
    void* found = FindInObject(next, name);
    if (found != nullptr) return found;
  }
  return nullptr;
}

void* FindInLibc(const char* name) {
  for (const char* library : {"libc.so.", "libpthread.so.", "libdl.so."}) {
    for (const link_map* object = FirstObject(); object != nullptr; object = object->l_next) {
      if (object->l_name == nullptr || !StartsWith(BaseName(object->l_name), library)) continue;
      void* found = FindInObject(object, name);
      if (found != nullptr) return found;
    }
  }
  return nullptr;
}

const link_map* DriverObject() {
  for (const link_map* object = FirstObject(); object != nullptr; object = object->l_next) {
    if (object->l_name != nullptr && StartsWith(BaseName(object->l_name), "libcuda.so") &&
        FindInObject(object, "cuDriverGetVersion") != nullptr) {
      return object;
    }
  }
  return nullptr;
}

}  // namespace gputrace::interpose

// SPDX-License-Identifier: Apache-2.0
#include "interpose/resolve/elf_symbols.h"

#include <elf.h>

#include <cstdint>

namespace gputrace::interpose {
namespace {

struct DynamicInfo {
  const ElfW(Sym) * symbols = nullptr;
  const char* strings = nullptr;
  const uint32_t* gnu_hash = nullptr;
  const uint32_t* sysv_hash = nullptr;
  const ElfW(Half) * versions = nullptr;
};

// The loader has relocated these pointers in most objects; in some (the vDSO) they are offsets
// still.
template <typename T>
const T* Relocated(const link_map* object, ElfW(Addr) value) {
  if (value < object->l_addr) value += object->l_addr;
  return reinterpret_cast<const T*>(value);
}

DynamicInfo ReadDynamic(const link_map* object) {
  DynamicInfo info;
  for (const ElfW(Dyn)* entry = object->l_ld; entry != nullptr && entry->d_tag != DT_NULL;
       ++entry) {
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

// The layout of a DT_GNU_HASH section.
struct GnuHash {
  explicit GnuHash(const uint32_t* section)
      : bucket_count(section[0]),
        first_symbol(section[1]),
        buckets(reinterpret_cast<const uint32_t*>(
            reinterpret_cast<const ElfW(Addr) *>(section + 4) + section[2])),
        chain(buckets + bucket_count) {}
  uint32_t bucket_count;
  uint32_t first_symbol;
  const uint32_t* buckets;
  const uint32_t* chain;  // of first_symbol and those that follow
};

bool IsDefinition(const ElfW(Sym) & symbol) {
  return symbol.st_shndx != SHN_UNDEF && symbol.st_value != 0 &&
         ELF64_ST_TYPE(symbol.st_info) != STT_TLS;
}

// Remembers the best definition seen: a symbol may be there in several versions, of which the one
// that is not hidden is the default.
struct Candidate {
  const ElfW(Sym) * symbol = nullptr;
  bool is_default = false;
};

void Consider(const DynamicInfo& info, uint32_t index, const char* name, Candidate* best) {
  constexpr ElfW(Half) kHiddenVersion = 0x8000;
  const ElfW(Sym)& symbol = info.symbols[index];
  if (!IsDefinition(symbol) || !SameName(info.strings + symbol.st_name, name)) return;
  const bool is_default = info.versions == nullptr || (info.versions[index] & kHiddenVersion) == 0;
  if (best->symbol == nullptr || (is_default && !best->is_default)) {
    *best = {&symbol, is_default};
  }
}

void SearchGnuHash(const DynamicInfo& info, const char* name, Candidate* best) {
  const GnuHash table(info.gnu_hash);
  if (table.bucket_count == 0) return;
  uint32_t hash = 5381;
  for (const char* c = name; *c != '\0'; ++c) hash = hash * 33 + static_cast<uint8_t>(*c);
  for (uint32_t i = table.buckets[hash % table.bucket_count]; i >= table.first_symbol && i != 0;
       ++i) {
    const uint32_t entry = table.chain[i - table.first_symbol];
    if ((entry | 1) == (hash | 1)) Consider(info, i, name, best);
    if ((entry & 1) != 0) break;
  }
}

// How many symbols there are: what the section headers would tell is not loaded.
uint32_t SymbolCount(const DynamicInfo& info) {
  if (info.gnu_hash == nullptr) return info.sysv_hash != nullptr ? info.sysv_hash[1] : 0;
  const GnuHash table(info.gnu_hash);
  uint32_t last = 0;
  for (uint32_t i = 0; i < table.bucket_count; ++i) {
    if (table.buckets[i] > last) last = table.buckets[i];
  }
  if (last < table.first_symbol || last == 0) return 0;
  while ((table.chain[last - table.first_symbol] & 1) == 0) ++last;
  return last + 1;
}

void* AddressOf(const link_map* object, const ElfW(Sym) & symbol) {
  const ElfW(Addr) address = object->l_addr + symbol.st_value;
  if (ELF64_ST_TYPE(symbol.st_info) == STT_GNU_IFUNC) {
    return reinterpret_cast<void* (*)()>(address)();
  }
  return reinterpret_cast<void*>(address);
}

}  // namespace

bool SameName(const char* name, const char* wanted) {
  while (*name == *wanted && *name != '\0') {
    ++name;
    ++wanted;
  }
  return *name == *wanted;
}

bool StartsWith(const char* text, const char* prefix) {
  for (; *prefix != '\0'; ++text, ++prefix) {
    if (*text != *prefix) return false;
  }
  return true;
}

const char* FileNameOf(const char* path) {
  const char* name = path;
  for (; *path != '\0'; ++path) {
    if (*path == '/') name = path + 1;
  }
  return name;
}

void* FindInObject(const link_map* object, const char* name) {
  const DynamicInfo info = ReadDynamic(object);
  if (info.symbols == nullptr || info.strings == nullptr) return nullptr;
  Candidate best;
  if (info.gnu_hash != nullptr) {
    SearchGnuHash(info, name, &best);
  } else {
    const uint32_t count = SymbolCount(info);
    for (uint32_t i = 1; i < count; ++i) Consider(info, i, name, &best);
  }
  return best.symbol == nullptr ? nullptr : AddressOf(object, *best.symbol);
}

const char* ExportAt(const link_map* object, const void* address) {
  const DynamicInfo info = ReadDynamic(object);
  if (info.symbols == nullptr || info.strings == nullptr) return nullptr;
  const uint32_t count = SymbolCount(info);
  for (uint32_t i = 1; i < count; ++i) {
    const ElfW(Sym)& symbol = info.symbols[i];
    if (IsDefinition(symbol) &&
        reinterpret_cast<const void*>(object->l_addr + symbol.st_value) == address) {
      return info.strings + symbol.st_name;
    }
  }
  return nullptr;
}

void ForEachExport(const link_map* object, void (*visit)(const char* name, void* argument),
                   void* argument) {
  const DynamicInfo info = ReadDynamic(object);
  if (info.symbols == nullptr || info.strings == nullptr) return;
  const uint32_t count = SymbolCount(info);
  for (uint32_t i = 1; i < count; ++i) {
    if (IsDefinition(info.symbols[i])) visit(info.strings + info.symbols[i].st_name, argument);
  }
}

const char* SonameOf(const link_map* object) {
  const char* strings = ReadDynamic(object).strings;
  for (const ElfW(Dyn)* entry = object->l_ld; entry != nullptr && entry->d_tag != DT_NULL;
       ++entry) {
    if (entry->d_tag == DT_SONAME && strings != nullptr) return strings + entry->d_un.d_val;
  }
  return nullptr;
}

void ForEachNeeded(const link_map* object, void (*visit)(const char* name, void* argument),
                   void* argument) {
  const char* strings = ReadDynamic(object).strings;
  for (const ElfW(Dyn)* entry = object->l_ld; entry != nullptr && entry->d_tag != DT_NULL;
       ++entry) {
    if (entry->d_tag == DT_NEEDED && strings != nullptr)
      visit(strings + entry->d_un.d_val, argument);
  }
}

}  // namespace gputrace::interpose

// SPDX-License-Identifier: Apache-2.0
#include "interpose/resolve/elf_lookup.h"

#include <elf.h>
#include <sys/auxv.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace gputrace::interpose {
namespace {

using IteratePhdr = int (*)(int (*)(dl_phdr_info*, size_t, void*), void*);

// The loader leaves its list's address in the program's DT_DEBUG entry.
const r_debug* FindLoaderData() {
  const auto* program = reinterpret_cast<const ElfW(Phdr)*>(getauxval(AT_PHDR));
  const size_t count = getauxval(AT_PHNUM);
  ElfW(Addr) bias = 0;
  const ElfW(Dyn)* dynamic = nullptr;
  for (size_t i = 0; i < count; ++i) {
    if (program[i].p_type == PT_PHDR)
      bias = reinterpret_cast<ElfW(Addr)>(program) - program[i].p_vaddr;
  }
  for (size_t i = 0; i < count; ++i) {
    if (program[i].p_type == PT_DYNAMIC) {
      dynamic = reinterpret_cast<const ElfW(Dyn)*>(bias + program[i].p_vaddr);
    }
  }
  for (; dynamic != nullptr && dynamic->d_tag != DT_NULL; ++dynamic) {
    if (dynamic->d_tag == DT_DEBUG && dynamic->d_un.d_ptr != 0) {
      return reinterpret_cast<const r_debug*>(dynamic->d_un.d_ptr);
    }
  }
  return nullptr;
}

// Null in a statically linked program.
const link_map* FirstObject() {
  static std::atomic<const r_debug*> loader{nullptr};
  const r_debug* data = loader.load(std::memory_order_relaxed);
  if (data == nullptr) {
    data = FindLoaderData();
    loader.store(data, std::memory_order_relaxed);
  }
  return data == nullptr ? nullptr : data->r_map;
}

// Libc comes with the program's start, in front of all that can be unloaded: no need of a lock.
void* SearchLibc(const char* name) {
  for (const char* library : {"libc.so.", "libpthread.so.", "libdl.so.", "ld-linux-"}) {
    for (const link_map* object = FirstObject(); object != nullptr; object = object->l_next) {
      if (object->l_name == nullptr || !StartsWith(FileNameOf(object->l_name), library)) continue;
      void* found = FindInObject(object, name);
      if (found != nullptr) return found;
    }
  }
  return nullptr;
}

IteratePhdr Iterate() {
  static std::atomic<void*> function{nullptr};
  void* found = function.load(std::memory_order_relaxed);
  if (found == nullptr) {
    found = SearchLibc("dl_iterate_phdr");
    function.store(found, std::memory_order_relaxed);
  }
  return reinterpret_cast<IteratePhdr>(found);
}

// Runs walk() while the list stays as it is. It must not call into the loader: that takes other
// locks.
template <typename Walk>
void WithListHeld(Walk walk) {
  const IteratePhdr iterate = Iterate();
  if (iterate == nullptr) {
    walk();
    return;
  }
  iterate(
      [](dl_phdr_info*, size_t, void* argument) {
        (*static_cast<Walk*>(argument))();
        return 1;
      },
      &walk);
}

struct AddressQuestion {
  ElfW(Addr) address;
  const link_map* answer;
};

int AnswerIfCovered(dl_phdr_info* info, size_t, void* argument) {
  auto* question = static_cast<AddressQuestion*>(argument);
  for (ElfW(Half) i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    const ElfW(Addr) start = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type != PT_LOAD || question->address < start ||
        question->address - start >= segment.p_memsz) {
      continue;
    }
    for (const link_map* object = FirstObject(); object != nullptr; object = object->l_next) {
      if (object->l_name == info->dlpi_name && object->l_addr == info->dlpi_addr) {
        question->answer = object;
      }
    }
    return 1;
  }
  return 0;
}

const link_map* FindDependency(const char* name) {
  for (const link_map* object = FirstObject(); object != nullptr; object = object->l_next) {
    const char* soname = SonameOf(object);
    if ((soname != nullptr && SameName(soname, name)) ||
        (object->l_name != nullptr && SameName(FileNameOf(object->l_name), name))) {
      return object;
    }
  }
  return nullptr;
}

// Objects in the order in which the loader searches them: breadth first.
class Scope {
 public:
  void Add(const link_map* object) {
    if (object == nullptr || count_ == kMax) return;
    for (uint32_t i = 0; i < count_; ++i) {
      if (objects_[i] == object) return;
    }
    objects_[count_++] = object;
  }
  void* Find(const char* name) {
    for (uint32_t i = 0; i < count_; ++i) {
      if (objects_[i]->l_ld != _DYNAMIC) {
        if (void* found = FindInObject(objects_[i], name)) return found;
      }
      ForEachNeeded(
          objects_[i],
          [](const char* needed, void* scope) {
            static_cast<Scope*>(scope)->Add(FindDependency(needed));
          },
          this);
    }
    return nullptr;
  }

 private:
  static constexpr uint32_t kMax = 512;
  uint32_t count_ = 0;
  const link_map* objects_[kMax];
};

}  // namespace

const link_map* ObjectOf(const void* address) {
  const IteratePhdr iterate = Iterate();
  AddressQuestion question{reinterpret_cast<ElfW(Addr)>(address), nullptr};
  if (iterate != nullptr) iterate(AnswerIfCovered, &question);
  return question.answer;
}

const link_map* OwnObject() {
  static std::atomic<const link_map*> own{nullptr};
  const link_map* object = own.load(std::memory_order_relaxed);
  if (object != nullptr) return object;
  // _DYNAMIC is the linker's name for this library's own l_ld. Not under the loader's lock, which
  // early callers may not be able to take: nothing is unloaded from among the preloads.
  for (object = FirstObject(); object != nullptr && object->l_ld != _DYNAMIC;)
    object = object->l_next;
  own.store(object, std::memory_order_relaxed);
  return object;
}

const link_map* DriverObject() {
  const link_map* found = nullptr;
  WithListHeld([&found] {
    for (const link_map* object = FirstObject(); object != nullptr; object = object->l_next) {
      if (object->l_name != nullptr && StartsWith(FileNameOf(object->l_name), "libcuda.so") &&
          FindInObject(object, "cuDriverGetVersion") != nullptr) {
        found = object;
        return;
      }
    }
  });
  return found;
}

void* FindAfter(const link_map* object, const char* name) {
  void* found = nullptr;
  WithListHeld([&] {
    const link_map* next = object == nullptr ? FirstObject() : object->l_next;
    for (; next != nullptr && found == nullptr; next = next->l_next)
      found = FindInObject(next, name);
  });
  return found;
}

void* FindInScopeOf(const link_map* object, const char* name) {
  void* found = nullptr;
  WithListHeld([&] {
    Scope scope;
    scope.Add(object);
    found = scope.Find(name);
  });
  return found;
}

void* FindInLibc(const char* name) { return SearchLibc(name); }

}  // namespace gputrace::interpose

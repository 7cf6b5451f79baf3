// SPDX-License-Identifier: Apache-2.0
#include "interpose/resolve/wrappers.h"

#include <initializer_list>

#include "interpose/hooks/entry_table.h"
#include "interpose/resolve/bases.h"
#include "interpose/resolve/coverage.h"
#include "interpose/resolve/dlsym.h"
#include "interpose/resolve/elf_lookup.h"

namespace gputrace::interpose {
namespace {

constexpr uint64_t kPerThreadDefaultStream = 2;  // CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM

int Compare(const char* a, const char* b) {
  while (*a == *b && *a != '\0') {
    ++a;
    ++b;
  }
  return static_cast<unsigned char>(*a) - static_cast<unsigned char>(*b);
}

bool LooksLikeMemory(const char* name) {
  for (const char* prefix : {"cuMem", "cuMulticast", "cuLogicalEndpoint"}) {
    if (StartsWith(name, prefix)) return true;
  }
  return false;
}

// Where a suffix like _v2 or _ptsz begins, or null.
const char* LastSuffix(const char* begin, const char* end) {
  const char* at = end;
  while (at != begin && *at != '_') --at;
  if (at == begin) return nullptr;
  const char* text = at + 1;
  if (end - text == 4 && text[0] == 'p' && text[1] == 't' && text[2] == 'd' && text[3] == 's')
    return at;
  if (end - text == 4 && text[0] == 'p' && text[1] == 't' && text[2] == 's' && text[3] == 'z')
    return at;
  if (end - text < 2 || *text != 'v') return nullptr;
  for (++text; text != end; ++text) {
    if (*text < '0' || *text > '9') return nullptr;
  }
  return at;
}

// The row among a name's versions that `real` is the exported function of; or null. What the
// version says is tried first: a driver may export one function under several names.
const BaseVersion* FindByPointer(const Base& base, const BaseVersion* first, const link_map* object,
                                 const void* real) {
  if (object == nullptr) return nullptr;
  if (first != nullptr && FindInObject(object, first->symbol) == real) return first;
  for (uint32_t i = 0; i < base.version_count; ++i) {
    if (FindInObject(object, base.versions[i].symbol) == real) return &base.versions[i];
  }
  return nullptr;
}

// Where pointers are not those of the exports: what the documentation says the answer is.
const BaseVersion* FindByVersion(const Base& base, int version, uint64_t flags) {
  const bool per_thread = (flags & kPerThreadDefaultStream) != 0;
  const BaseVersion* best = nullptr;
  for (uint32_t i = 0; i < base.version_count; ++i) {
    const BaseVersion& candidate = base.versions[i];
    if (static_cast<int>(candidate.since) > version) continue;
    if (candidate.per_thread && !per_thread) continue;
    // Of one version, the per-thread twin is meant if there is one and it was asked for.
    if (best == nullptr || candidate.since > best->since ||
        (candidate.since == best->since && candidate.per_thread)) {
      best = &candidate;
    }
  }
  return best;
}

// Where pointers are not those of the exports. A function that came after the table may have the
// name and version of an older one but other parameters: then nothing is wrapped.
template <typename AskAgain>
const BaseVersion* FindByName(const Base& base, const Resolution& resolution,
                              const link_map* object, AskAgain ask_again) {
  const char* name = object == nullptr ? nullptr : ExportAt(object, resolution.real);
  // Here pointers are those of the exports after all, and it is none that the table knows.
  if (name != nullptr && StartsWith(name, "cu")) {
    NoteCoverage(trace::CoverageWhat::kUnwrappedPointer, name);
    return nullptr;
  }
  int version = resolution.version;
  if (version > kNewestVersion) {
    version = kNewestVersion;
    if (ask_again(version) != resolution.real) {
      NoteCoverage(trace::CoverageWhat::kUnwrappedPointer, base.name);
      return nullptr;
    }
  }
  return FindByVersion(base, version, resolution.flags);
}

bool HasWrapper(const Base& base) {
  for (uint32_t i = 0; i < base.version_count; ++i) {
    if (base.versions[i].wrapper != 0) return true;
  }
  return false;
}

template <typename AskAgain>
void* Route(const Resolution& resolution, AskAgain ask_again) {
  if (resolution.real == nullptr || resolution.name[0] == '\0') return resolution.real;
  const Base* base = FindBase(resolution.name);
  if (base == nullptr) {
    if (LooksLikeMemory(resolution.name)) {
      NoteCoverage(trace::CoverageWhat::kUnknownEntry, resolution.name);
    }
    return resolution.real;
  }
  if (!HasWrapper(*base)) return resolution.real;
  const link_map* object = ObjectOf(resolution.real);
  const BaseVersion* meant = FindByPointer(
      *base, FindByVersion(*base, resolution.version, resolution.flags), object, resolution.real);
  if (meant == nullptr) meant = FindByName(*base, resolution, object, ask_again);
  if (meant == nullptr) return resolution.real;
  if (meant->missed) NoteCoverage(trace::CoverageWhat::kUnwrappedPointer, meant->symbol);
  if (meant->wrapper == 0) return resolution.real;
  NoteWay(meant->wrapper, trace::CoverageWhat::kProcAddress);
  return Wrap(meant->wrapper, resolution.real);
}

// As the loader would have bound the symbol without us; a driver in a scope of its own after that.
// The real dlsym is asked only if somebody stands between, since a failure would show in dlerror().
const void* FindNextProvider(const char* symbol) {
  void* first = FindAfter(OwnObject(), symbol);
  const link_map* driver = DriverObject();
  void* of_driver = driver == nullptr ? nullptr : FindInObject(driver, symbol);
  if (first == of_driver) return of_driver;
  void* next = FindNextGlobal(symbol);
  return next != nullptr ? next : of_driver;
}

}  // namespace

const Base* FindBase(const char* name) {
  uint32_t low = 0;
  uint32_t high = kBaseCount;
  while (low < high) {
    const uint32_t middle = (low + high) / 2;
    const int order = Compare(name, kBases[middle].name);
    if (order == 0) return &kBases[middle];
    if (order < 0) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return nullptr;
}

const BaseVersion* FindSymbol(const char* symbol) {
  constexpr uint32_t kMaxName = 128;
  char name[kMaxName];
  uint32_t size = 0;
  for (; symbol[size] != '\0'; ++size) {
    if (size + 1 == kMaxName) return nullptr;
    name[size] = symbol[size];
  }
  name[size] = '\0';
  while (true) {
    const Base* base = FindBase(name);
    for (uint32_t i = 0; base != nullptr && i < base->version_count; ++i) {
      if (SameName(base->versions[i].symbol, symbol)) return &base->versions[i];
    }
    const char* suffix = LastSuffix(name, name + size);
    if (suffix == nullptr) return nullptr;
    size = static_cast<uint32_t>(suffix - name);
    name[size] = '\0';
  }
}

uint16_t FindWrapper(const char* symbol) {
  // The resolvers stand behind the sorted part.
  for (uint16_t id = static_cast<uint16_t>(kEntryCount + 1); id <= kWrapperCount; ++id) {
    if (SameName(symbol, kWrappers[id].symbol)) return id;
  }
  uint32_t low = 1;
  uint32_t high = kEntryCount + 1u;
  while (low < high) {
    const uint32_t middle = (low + high) / 2;
    const int order = Compare(symbol, kWrappers[middle].symbol);
    if (order == 0) return static_cast<uint16_t>(middle);
    if (order < 0) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return 0;
}

void* Wrap(uint16_t id, void* real) {
  const Wrapper& wrapper = kWrappers[id];
  if (real == nullptr || real == wrapper.exported) return real;
  for (int slot = 0; slot < kBoundThunks; ++slot) {
    if (real == wrapper.bound[slot]) return real;
    const void* bound = nullptr;
    if (g_bound[id][slot].compare_exchange_strong(bound, real) || bound == real) {
      return const_cast<void*>(wrapper.bound[slot]);
    }
  }
  NoteCoverage(trace::CoverageWhat::kUnwrappedPointer, wrapper.symbol);
  return real;
}

const void* FindExportedNext(uint16_t id) {
  const void* next = FindNextProvider(kWrappers[id].symbol);
  // Not remembered: the driver may be loaded later.
  if (next == nullptr) return nullptr;
  g_exported[id].store(next, std::memory_order_relaxed);
  NoteWay(id, trace::CoverageWhat::kLinked);
  return next;
}

void* WrapResolved(const Resolution& resolution, GetProcAddressV1 resolver) {
  return Route(resolution, [&](int version) {
    void* answer = nullptr;
    resolver(resolution.name, &answer, version, resolution.flags);
    return answer;
  });
}

void* WrapResolved(const Resolution& resolution, GetProcAddressV2 resolver) {
  return Route(resolution, [&](int version) {
    void* answer = nullptr;
    resolver(resolution.name, &answer, version, resolution.flags, nullptr);
    return answer;
  });
}

DriverExports CountDriverExports() {
  DriverExports exports{0, 0};
  const link_map* driver = DriverObject();
  if (driver == nullptr) return exports;
  ForEachExport(
      driver,
      [](const char* name, void* argument) {
        auto* counts = static_cast<DriverExports*>(argument);
        if (!StartsWith(name, "cu")) return;
        ++counts->all;
        if (FindSymbol(name) != nullptr) return;
        ++counts->unknown;
        if (LooksLikeMemory(name)) NoteCoverage(trace::CoverageWhat::kUnknownExport, name);
      },
      &exports);
  return exports;
}

bool IsMissedEntry(const char* symbol, trace::CoverageWhat* what) {
  const BaseVersion* known = FindSymbol(symbol);
  *what = known == nullptr ? trace::CoverageWhat::kUnknownEntry
                           : trace::CoverageWhat::kUnwrappedPointer;
  return known == nullptr ? LooksLikeMemory(symbol) : known->missed;
}

}  // namespace gputrace::interpose

// SPDX-License-Identifier: Apache-2.0
#include "interpose/resolve/wrappers.h"

#include <initializer_list>

#include "interpose/hooks/entry_table.h"
#include "interpose/resolve/bases.h"
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

int NoDriver() {
  constexpr int kSymbolNotFound = 302;  // CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND
  return kSymbolNotFound;
}

bool LooksLikeMemory(const char* name) {
  for (const char* prefix : {"cuMem", "cuMulticast", "cuLogicalEndpoint"}) {
    const char* at = name;
    while (*prefix != '\0' && *at == *prefix) {
      ++at;
      ++prefix;
    }
    if (*prefix == '\0') return true;
  }
  return false;
}

void NoteUnknown(const char* name) {
  const uint32_t known = g_coverage.unknown_count.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < known && i < Coverage::kMaxUnknown; ++i) {
    if (SameName(g_coverage.unknown[i], name)) return;
  }
  const uint32_t slot = g_coverage.unknown_count.fetch_add(1, std::memory_order_acq_rel);
  if (slot >= Coverage::kMaxUnknown) return;
  char* out = g_coverage.unknown[slot];
  for (uint32_t i = 0; i + 1 < sizeof(g_coverage.unknown[0]) && name[i] != '\0'; ++i) out[i] = name[i];
}

// The symbol that `real` is the exported function of, among the versions of a name; or null.
const BaseVersion* FindByPointer(const Base& base, const void* real) {
  const link_map* object = ObjectOf(real);
  if (object == nullptr) return nullptr;
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

}  // namespace

Coverage g_coverage;

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
  g_coverage.unwrapped.fetch_add(1, std::memory_order_relaxed);
  return real;
}

const void* ExportedNext(uint16_t id) {
  const void* next = g_exported[id].load(std::memory_order_relaxed);
  if (next != nullptr) return next;
  const char* symbol = kWrappers[id].symbol;
  // First as the loader would have bound it without us; a driver in a scope of its own after that.
  void* found = FindNextGlobal(symbol);
  if (found == nullptr) {
    const link_map* object = DriverObject();
    if (object != nullptr) found = FindInObject(object, symbol);
  }
  // Not remembered: the driver may be loaded later.
  if (found == nullptr) return reinterpret_cast<const void*>(&NoDriver);
  g_exported[id].store(found, std::memory_order_relaxed);
  return found;
}

void* WrapResolved(const char* base, int version, uint64_t flags, void* real) {
  if (real == nullptr || base[0] == '\0') return real;
  const Base* known = FindBase(base);
  if (known == nullptr) {
    if (LooksLikeMemory(base)) NoteUnknown(base);
    return real;
  }
  const BaseVersion* meant = FindByPointer(*known, real);
  if (meant == nullptr) meant = FindByVersion(*known, version, flags);
  if (meant == nullptr || meant->wrapper == 0) return real;
  return Wrap(meant->wrapper, real);
}

}  // namespace gputrace::interpose

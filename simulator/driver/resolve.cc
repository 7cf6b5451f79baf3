// SPDX-License-Identifier: Apache-2.0
// cuGetProcAddress: entries by base name, version and kind of default stream.
#include <algorithm>
#include <cstring>

#include "bodies.h"
#include "simulator/driver/config.h"
#include "simulator/driver/entry.h"

namespace gputrace::sim {
namespace {

// What the header means by a name in a version.
const char* CurrentName(const char* base, int version) {
  for (unsigned i = 0; i < kRenamedCount; ++i) {
    if (version >= kRenamed[i].since && strcmp(base, kRenamed[i].base) == 0)
      return kRenamed[i].instead;
  }
  return base;
}

struct Search {
  const Entry* found = nullptr;
  bool known = false;  // in some version that the driver has
};

Search Find(const char* base, int version, bool per_thread) {
  Search search;
  const Entry* begin = std::lower_bound(
      kEntries, kEntries + kEntryCount, base,
      [](const Entry& entry, const char* name) { return strcmp(entry.base, name) < 0; });
  const Entry* plain = nullptr;
  const Entry* twin = nullptr;
  for (const Entry* entry = begin;
       entry != kEntries + kEntryCount && strcmp(entry->base, base) == 0; ++entry) {
    if (entry->since > config().driver_version) continue;
    search.known = true;
    if (entry->since > version) continue;
    (entry->stream_kind == StreamKind::kPerThread ? twin : plain) = entry;
  }
  search.found = per_thread && twin != nullptr ? twin : plain;
  return search;
}

CUresult Resolve(const char* symbol, void** pfn, int version, cuuint64_t flags,
                 CUdriverProcAddressQueryResult* status, CUresult if_absent) {
  constexpr cuuint64_t kFlags =
      CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  if (symbol == nullptr || pfn == nullptr || (flags & ~kFlags) != 0 || flags == kFlags) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (version > config().driver_version) return CUDA_ERROR_INVALID_VALUE;
  const Search search = Find(CurrentName(symbol, version), version,
                             (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0);
  *pfn = nullptr;
  if (search.found != nullptr) {
    *pfn = config().distinct_pointers ? search.found->twin : search.found->address;
  }
  if (status != nullptr) {
    *status = search.found != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS
              : search.known          ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                      : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  }
  return search.found != nullptr ? CUDA_SUCCESS : if_absent;
}

}  // namespace

extern "C" {

// The first version answers CUDA_ERROR_NOT_FOUND for what is absent (header of 11.8), the second a
// null pointer and a status (header of 12 and 13). Without a place for the status it is assumed to
// be an error.
CUresult gpusim_cuGetProcAddress(const char* symbol, void** pfn, int cudaVersion,
                                 cuuint64_t flags) {
  return Resolve(symbol, pfn, cudaVersion, flags, nullptr, CUDA_ERROR_NOT_FOUND);
}

CUresult gpusim_cuGetProcAddress_v2(const char* symbol, void** pfn, int cudaVersion,
                                    cuuint64_t flags,
                                    CUdriverProcAddressQueryResult* symbolStatus) {
  return Resolve(symbol, pfn, cudaVersion, flags, symbolStatus,
                 symbolStatus == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS);
}

}  // extern "C"

}  // namespace gputrace::sim

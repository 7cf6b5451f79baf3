// SPDX-License-Identifier: Apache-2.0
// cuGetProcAddress: which ABI of a name a version asks for. And names of errors.
#include <cstring>

#include "simulator/driver/exports.h"
#include "simulator/driver/state.h"

namespace gputrace::sim {
namespace {

int DriverVersion() {
  const Locked locked;
  return state().initialised ? state().config.version : ReadConfig().version;
}

bool WantsDistinctPointers() {
  const Locked locked;
  return state().initialised ? state().config.distinct_pointers : ReadConfig().distinct_pointers;
}

const ExportedEntry* Find(const char* base, int version, bool per_thread, bool* name_known) {
  const ExportedEntry* best = nullptr;
  for (uint32_t i = 0; i < kExportCount; ++i) {
    const ExportedEntry& entry = kExports[i];
    if (strcmp(entry.base, base) != 0) continue;
    *name_known = true;
    if (static_cast<int>(entry.since) > version || (entry.per_thread && !per_thread)) continue;
    if (best == nullptr || entry.since > best->since ||
        (entry.since == best->since && entry.per_thread)) {
      best = &entry;
    }
  }
  for (const Alias* alias = kAliases; alias->name != nullptr; ++alias) {
    if (strcmp(alias->name, base) == 0 && static_cast<int>(alias->since) <= version) {
      best = &kExports[alias->entry];
    }
  }
  return best;
}

CUresult Resolve(const char* base, void** out, int version, cuuint64_t flags,
                 CUdriverProcAddressQueryResult* status) {
  if (base == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  bool name_known = false;
  const int driver_version = DriverVersion();
  const ExportedEntry* entry =
      Find(base, version < driver_version ? version : driver_version,
           (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0, &name_known);
  *out = nullptr;
  if (entry == nullptr) {
    if (status != nullptr) {
      *status = name_known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                           : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    }
    return CUDA_ERROR_NOT_FOUND;
  }
  *out = WantsDistinctPointers() ? entry->alternate : entry->address;
  if (status != nullptr) *status = CU_GET_PROC_ADDRESS_SUCCESS;
  return CUDA_SUCCESS;
}

struct ErrorText {
  CUresult code;
  const char* name;
  const char* text;
};
constexpr ErrorText kErrors[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CUDA_ERROR_DEINITIALIZED, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {CUDA_ERROR_CONTEXT_IS_DESTROYED, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    {CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

const ErrorText* FindError(CUresult code) {
  for (const ErrorText& error : kErrors) {
    if (error.code == code) return &error;
  }
  return nullptr;
}

}  // namespace

CUresult Sim_cuGetProcAddress(const char* base, void** out, int version, cuuint64_t flags) {
  return Resolve(base, out, version, flags, nullptr);
}
CUresult Sim_cuGetProcAddress_v2(const char* base, void** out, int version, cuuint64_t flags,
                                 CUdriverProcAddressQueryResult* status) {
  return Resolve(base, out, version, flags, status);
}

// Its tables are NVIDIA's private interface, which is not imitated.
CUresult Sim_cuGetExportTable(const void** table, const CUuuid*) {
  if (table != nullptr) *table = nullptr;
  return CUDA_ERROR_NOT_FOUND;
}

CUresult Sim_cuGetErrorName(CUresult code, const char** name) {
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const ErrorText* error = FindError(code);
  *name = error == nullptr ? nullptr : error->name;
  return error == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
CUresult Sim_cuGetErrorString(CUresult code, const char** text) {
  if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const ErrorText* error = FindError(code);
  *text = error == nullptr ? nullptr : error->text;
  return error == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

}  // namespace gputrace::sim

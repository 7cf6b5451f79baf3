// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/results.h"

#include "absl/strings/str_cat.h"

namespace gputrace::report {

std::string ResultName(int32_t result) {
  struct Known {
    int32_t result;
    const char* name;
  };
  // cuda.h: CUresult.
  static constexpr Known kKnown[] = {
      {1, "INVALID_VALUE"},
      {2, "OUT_OF_MEMORY"},
      {3, "NOT_INITIALIZED"},
      {4, "DEINITIALIZED"},
      {201, "INVALID_CONTEXT"},
      {205, "MAP_FAILED"},
      {206, "UNMAP_FAILED"},
      {400, "INVALID_HANDLE"},
      {401, "ILLEGAL_STATE"},
      {700, "ILLEGAL_ADDRESS"},
      {709, "CONTEXT_IS_DESTROYED"},
      {712, "HOST_MEMORY_ALREADY_REGISTERED"},
      {713, "HOST_MEMORY_NOT_REGISTERED"},
      {719, "LAUNCH_FAILED"},
      {800, "NOT_PERMITTED"},
      {801, "NOT_SUPPORTED"},
      {900, "STREAM_CAPTURE_UNSUPPORTED"},
      {999, "UNKNOWN"},
  };
  for (const Known& known : kKnown) {
    if (known.result == result) return absl::StrCat("CUDA_ERROR_", known.name);
  }
  return absl::StrCat("error ", result);
}

}  // namespace gputrace::report

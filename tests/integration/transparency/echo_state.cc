// SPDX-License-Identifier: Apache-2.0
#include "tests/integration/transparency/echo.h"

namespace gputrace {

extern "C" ECHO_EXPORT EchoState* echo_state() {
  static EchoState state;
  return &state;
}

// By which a tracer knows a driver.
extern "C" ECHO_EXPORT CUresult cuDriverGetVersion(int* version) {
  *version = 13050;
  return CUDA_SUCCESS;
}

}  // namespace gputrace

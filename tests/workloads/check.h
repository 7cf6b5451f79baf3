// SPDX-License-Identifier: Apache-2.0
// For programs whose driver calls are all meant to succeed, or to fail in a known way.
#ifndef GPUTRACE_TESTS_WORKLOADS_CHECK_H_
#define GPUTRACE_TESTS_WORKLOADS_CHECK_H_

#include <cuda.h>

#include <cstdio>
#include <cstdlib>

#define EXPECT_RESULT(call, expected)                                                 \
  do {                                                                                \
    const int result_ = static_cast<int>(call);                                       \
    if (result_ != static_cast<int>(expected)) {                                      \
      fprintf(stderr, "%s:%d: %s = %d, not %d\n", __FILE__, __LINE__, #call, result_, \
              static_cast<int>(expected));                                            \
      exit(3);                                                                        \
    }                                                                                 \
  } while (false)
#define CHECK(call) EXPECT_RESULT(call, CUDA_SUCCESS)

// Makes the primary context of device 0 current.
inline CUcontext UsePrimary() {
  CUcontext context = nullptr;
  CHECK(cuInit(0));
  CHECK(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK(cuCtxSetCurrent(context));
  return context;
}

#endif  // GPUTRACE_TESTS_WORKLOADS_CHECK_H_

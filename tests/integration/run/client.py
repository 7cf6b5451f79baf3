# SPDX-License-Identifier: Apache-2.0
"""A small CUDA program for the tests of `gputrace run`: allocates some bytes and prints what it sees."""
import ctypes
import sys

cuda = ctypes.CDLL("libcuda.so.1")
count, total, free = ctypes.c_int(), ctypes.c_size_t(), ctypes.c_size_t()
context, address = ctypes.c_void_p(), ctypes.c_uint64()


def check(result):
    if result != 0:
        sys.exit(f"the driver answered {result}")


check(cuda.cuInit(0))
check(cuda.cuDeviceGetCount(ctypes.byref(count)))
check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
check(cuda.cuCtxSetCurrent(context))
check(cuda.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total)))
check(cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(1 << 20)))
print(count.value, total.value)
if len(sys.argv) > 1:
    sys.exit(int(sys.argv[1]))

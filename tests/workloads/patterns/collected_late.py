# SPDX-License-Identifier: Apache-2.0
"""Arrays that are collected after their context is no longer current. With "healthy": while it is."""
import sys

from cuda.bindings import driver


def check(answer):
    result, *values = answer
    assert result == driver.CUresult.CUDA_SUCCESS, result
    return values[0] if values else None


class Array:
    def __init__(self, size):
        self.address = check(driver.cuMemAlloc(size))

    def __del__(self):
        driver.cuMemFree(self.address)  # whatever it answers


check(driver.cuInit(0))
context = check(driver.cuDevicePrimaryCtxRetain(0))
check(driver.cuCtxPushCurrent(context))
arrays = [Array(1 << 20) for _ in range(5)]
if "healthy" in sys.argv:
    arrays.clear()
check(driver.cuCtxPopCurrent())
arrays.clear()

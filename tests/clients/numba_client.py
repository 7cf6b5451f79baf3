# SPDX-License-Identifier: Apache-2.0
"""numba-cuda, and what numba had before it, on the stand-in: arrays of all kinds, deferred frees,
running out of memory, a kernel."""
import importlib.util
import unittest

import numpy
from numba import cuda

MIB = 1 << 20


def used():
    free, total = cuda.current_context().get_memory_info()
    return total - free


class Numba(unittest.TestCase):
    def test_device_arrays(self):
        host = numpy.arange(100000, dtype=numpy.float32)
        device = cuda.to_device(host)
        self.assertTrue((device.copy_to_host() == host).all())

    def test_deferred_frees(self):
        cuda.current_context()
        before = used()
        array = cuda.device_array(64 * MIB, dtype=numpy.uint8)
        self.assertEqual(used() - before, 64 * MIB)
        with cuda.defer_cleanup():
            del array
            self.assertEqual(used() - before, 64 * MIB)
        cuda.current_context().memory_manager.deallocations.clear()
        self.assertEqual(used(), before)

    def test_pinned_and_managed(self):
        pinned = cuda.pinned_array(1000, dtype=numpy.int32)
        pinned[:] = 3
        managed = cuda.managed_array(1000, dtype=numpy.int32)
        managed[:] = 4
        self.assertEqual(int(pinned.sum() + managed.sum()), 7000)

    def test_out_of_memory(self):
        with self.assertRaisesRegex(Exception, "OUT_OF_MEMORY"):
            cuda.device_array(1 << 40, dtype=numpy.uint8)

    @unittest.skipIf(importlib.util.find_spec("numba_cuda") is None, "brings no compiler for kernels")
    def test_kernels_are_compiled_and_do_nothing(self):
        @cuda.jit
        def fill(array):
            array[cuda.grid(1)] = 1

        array = cuda.to_device(numpy.zeros(32, dtype=numpy.int32))
        fill[1, 32](array)
        self.assertEqual(int(array.copy_to_host().sum()), 0)


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""pycuda on the stand-in: a C++ extension that is linked with libcuda."""
import unittest

import numpy
import pycuda.driver as driver

MIB = 1 << 20


class PyCuda(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        driver.init()
        cls.context = driver.Device(0).make_context()

    @classmethod
    def tearDownClass(cls):
        cls.context.pop()

    def used(self):
        free, total = driver.mem_get_info()
        return total - free

    def test_memory(self):
        before = self.used()
        host = numpy.arange(1000, dtype=numpy.int32)
        device = driver.mem_alloc(host.nbytes)
        self.assertEqual(self.used() - before, 2 * MIB)
        driver.memcpy_htod(device, host)
        back = numpy.zeros_like(host)
        driver.memcpy_dtoh(back, device)
        self.assertTrue((back == host).all())
        device.free()
        self.assertEqual(self.used(), before)

    def test_out_of_memory(self):
        with self.assertRaises(driver.MemoryError):
            driver.mem_alloc(1 << 40)

    def test_pinned_memory(self):
        array = driver.pagelocked_empty(1000, numpy.int32)
        array[:] = 5
        self.assertEqual(int(array.sum()), 5000)


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's cuda-core on the stand-in: the Pythonic layer over cuda-bindings."""
import unittest

import numpy
from cuda.bindings import driver
from cuda.core import Device, DeviceMemoryResource, LegacyPinnedMemoryResource

MIB = 1 << 20


def used():
    """Bytes of the device's memory pool in use, by the driver's own account."""
    pool = driver.cuDeviceGetMemPool(0)[1]
    attribute = driver.CUmemPool_attribute.CU_MEMPOOL_ATTR_USED_MEM_CURRENT
    return int(driver.cuMemPoolGetAttribute(pool, attribute)[1])


class Core(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.device = Device(0)
        cls.device.set_current()
        cls.stream = cls.device.create_stream()

    def test_device(self):
        self.assertEqual(self.device.compute_capability, (9, 0))
        self.assertEqual(self.device.properties.multiprocessor_count, 132)

    def test_stream_ordered_memory(self):
        self.assertEqual(used(), 0)
        buffer = self.device.allocate(3 * MIB, stream=self.stream)
        self.assertEqual(buffer.size, 3 * MIB)
        self.assertEqual(used(), 3 * MIB)
        buffer.close(self.stream)
        self.assertEqual(used(), 0)

    def test_copies_through_pinned_memory(self):
        host = LegacyPinnedMemoryResource().allocate(1024)
        array = numpy.from_dlpack(host).view(numpy.uint8)
        array[:] = numpy.arange(1024) % 251
        expected = array.copy()
        buffer = DeviceMemoryResource(self.device).allocate(1024, stream=self.stream)
        buffer.copy_from(host, stream=self.stream)
        self.stream.sync()
        array[:] = 0
        buffer.copy_to(host, stream=self.stream)
        self.stream.sync()
        self.assertTrue((array == expected).all())
        buffer.close(self.stream)
        host.close()

    def test_events(self):
        first = self.stream.record()
        second = self.stream.record()
        second.sync()
        self.assertTrue(first.is_done)


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's cuda-bindings on the stand-in: the driver API itself, as Python calls it."""
import ctypes
import json
import os
import signal
import time
import unittest

from cuda.bindings import driver

MIB = 1 << 20
SUCCESS = driver.CUresult.CUDA_SUCCESS
CONTEXT_BYTES = 256 * MIB


def check(answer):
    result, *values = answer
    if result != SUCCESS:
        raise RuntimeError(result.name)
    return values[0] if len(values) == 1 else values


def failure(answer):
    return answer[0].name


def used():
    free, total = check(driver.cuMemGetInfo())
    return total - free - CONTEXT_BYTES


def write(address, data):
    check(driver.cuMemcpyHtoD(address, data, len(data)))


def read(address, size):
    data = bytearray(size)
    check(driver.cuMemcpyDtoH((ctypes.c_char * size).from_buffer(data), address, size))
    return bytes(data)


class Bindings(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        check(driver.cuInit(0))
        cls.device = check(driver.cuDeviceGet(0))
        check(driver.cuCtxSetCurrent(check(driver.cuDevicePrimaryCtxRetain(cls.device))))

    def setUp(self):
        self.assertEqual(used(), 0)

    def test_device(self):
        self.assertEqual(check(driver.cuDriverGetVersion()), 13050)
        self.assertEqual(check(driver.cuDeviceTotalMem(self.device)), 16384 * MIB)
        attribute = driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
        self.assertEqual(check(driver.cuDeviceGetAttribute(attribute, self.device)), 9)

    def test_linear_memory(self):
        first = check(driver.cuMemAlloc(1000))
        second = check(driver.cuMemAlloc(5 * MIB))
        self.assertEqual(used(), 8 * MIB)
        data = bytes(range(250)) * 4
        write(first, data)
        check(driver.cuMemcpyDtoD(int(second) + 10, first, 1000))
        self.assertEqual(read(int(second) + 10, 1000), data)
        self.assertEqual(failure(driver.cuMemFree(int(first) + 1)), "CUDA_ERROR_INVALID_VALUE")
        check(driver.cuMemFree(first))
        check(driver.cuMemFree(second))
        self.assertEqual(failure(driver.cuMemFree(first)), "CUDA_ERROR_INVALID_VALUE")

    def test_out_of_memory(self):
        free, _ = check(driver.cuMemGetInfo())
        self.assertEqual(failure(driver.cuMemAlloc(free + 1)), "CUDA_ERROR_OUT_OF_MEMORY")
        address = check(driver.cuMemAlloc(free))
        self.assertEqual(failure(driver.cuMemAlloc(1)), "CUDA_ERROR_OUT_OF_MEMORY")
        check(driver.cuMemFree(address))

    def test_pool(self):
        stream = check(driver.cuStreamCreate(driver.CUstream_flags.CU_STREAM_NON_BLOCKING))
        pool = check(driver.cuDeviceGetDefaultMemPool(self.device))
        address = check(driver.cuMemAllocAsync(3 * MIB, stream))
        attribute = driver.CUmemPool_attribute
        value = check(driver.cuMemPoolGetAttribute(pool, attribute.CU_MEMPOOL_ATTR_USED_MEM_CURRENT))
        self.assertEqual(int(value), 3 * MIB)
        value = check(driver.cuMemPoolGetAttribute(pool, attribute.CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT))
        self.assertEqual(int(value), 32 * MIB)
        check(driver.cuMemFreeAsync(address, stream))
        self.assertEqual(used(), 32 * MIB)
        check(driver.cuStreamSynchronize(stream))
        self.assertEqual(used(), 0)
        check(driver.cuStreamDestroy(stream))

    def test_virtual_memory(self):
        props = driver.CUmemAllocationProp()
        props.type = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
        props.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
        props.location.id = 0
        flag = driver.CUmemAllocationGranularity_flags.CU_MEM_ALLOC_GRANULARITY_MINIMUM
        granularity = check(driver.cuMemGetAllocationGranularity(props, flag))
        self.assertEqual(granularity, 2 * MIB)
        handle = check(driver.cuMemCreate(granularity, props, 0))
        address = check(driver.cuMemAddressReserve(4 * granularity, 0, 0, 0))
        check(driver.cuMemMap(address, granularity, 0, handle, 0))
        check(driver.cuMemRelease(handle))
        access = driver.CUmemAccessDesc()
        access.location = props.location
        access.flags = driver.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
        check(driver.cuMemSetAccess(address, granularity, [access], 1))
        check(driver.cuMemsetD8(address, 7, granularity))
        self.assertEqual(read(address, 3), b"\7\7\7")
        self.assertEqual(used(), granularity)
        check(driver.cuMemUnmap(address, granularity))
        self.assertEqual(used(), 0)
        check(driver.cuMemAddressFree(address, 4 * granularity))

    def test_graph_with_an_allocation(self):
        stream = check(driver.cuStreamCreate(driver.CUstream_flags.CU_STREAM_NON_BLOCKING))
        mode = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
        check(driver.cuStreamBeginCapture(stream, mode))
        address = check(driver.cuMemAllocAsync(MIB, stream))
        check(driver.cuMemFreeAsync(address, stream))
        graph = check(driver.cuStreamEndCapture(stream))
        self.assertEqual(used(), 0)
        executable = check(driver.cuGraphInstantiate(graph, 0))
        check(driver.cuGraphLaunch(executable, stream))
        self.assertEqual(used(), 2 * MIB)
        check(driver.cuDeviceGraphMemTrim(self.device))
        check(driver.cuGraphExecDestroy(executable))
        check(driver.cuGraphDestroy(graph))
        check(driver.cuStreamDestroy(stream))

    def test_module(self):
        ptx = b".version 8.0\n.target sm_90\n.address_size 64\n.global .b8 table[300];\n.visible .entry f() { ret; }\0"
        module = check(driver.cuModuleLoadData(ptx))
        function = check(driver.cuModuleGetFunction(module, b"f"))
        check(driver.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, 0, 0, 0))
        _, size = check(driver.cuModuleGetGlobal(module, b"table"))
        self.assertEqual(size, 300)
        check(driver.cuModuleUnload(module))

    def test_the_ledger_agrees(self):
        address = check(driver.cuMemAlloc(4321))
        path = os.environ["GPUSIM_LEDGER"]
        os.kill(os.getpid(), signal.SIGUSR2)
        deadline = time.monotonic() + 10
        while not os.path.exists(path) and time.monotonic() < deadline:
            time.sleep(0.01)
        with open(path) as file:
            ledger = json.load(file)
        found = [entry for entry in ledger["live"] if entry["kind"] == "device"]
        self.assertEqual([(entry["address"], entry["size"]) for entry in found], [(int(address), 4321)])
        self.assertEqual(ledger["devices"][0]["used"], CONTEXT_BYTES + 2 * MIB)
        self.assertGreaterEqual(ledger["calls"]["cuMemAlloc_v2"], 1)
        check(driver.cuMemFree(address))


if __name__ == "__main__":
    unittest.main()

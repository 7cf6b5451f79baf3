# SPDX-License-Identifier: Apache-2.0
"""Each family of calls, traced on the stand-in: the live set by `gputrace` equals the stand-in's own.

usage: truth_test.py BUILD_DIR SOURCE_DIR
"""
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

BUILD, SOURCE = (pathlib.Path(argument) for argument in sys.argv[1:3])
FAMILIES = "linear managed host pools contexts reset arrays virtual modules".split()

# Kinds of the stand-in's ledger by the ledger of ours that holds them. Contexts, streams and modules have
# no bytes in ours: what the driver takes for itself is not the program's.
LEDGERS = {"device": "device", "managed": "managed", "pinned": "pinned", "registered": "registered",
           "pool": "pool_used", "array": "array", "mipmap": "array", "vmm": "vmm",
           "reserved_va": "reserved_va"}


class Truth(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)

    def trace(self, *command):
        """Runs a command; returns the stand-in's ledger and our summary."""
        environment = dict(
            os.environ, LD_PRELOAD=str(BUILD / "lib/libgputrace.so"),
            LD_LIBRARY_PATH=str(BUILD / "lib/simulator"), GPUTRACE_OUT=str(self.path / "t.gputrace"),
            GPUSIM_LEDGER=str(self.path / "ledger.json"))
        done = subprocess.run([str(part) for part in command], env=environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads((self.path / "ledger.json").read_text()), self.gputrace("summary")

    def gputrace(self, command, *arguments):
        done = subprocess.run([BUILD / "bin/gputrace", command, "--json", *arguments, self.path / "t.gputrace"],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def compare(self, truth, ours):
        expected, counts = collections.Counter(), collections.Counter()
        for entry in truth["live"]:
            ledger = LEDGERS.get(entry["kind"])
            if ledger:
                expected[ledger] += entry["size"]
                counts[ledger] += 1
        for ledger in set(LEDGERS.values()):
            self.assertEqual(ours["ledgers"][ledger]["current"], expected[ledger], ledger)
        self.assertTrue(ours["trust"]["ledger_complete"], ours["trust"])
        self.assertEqual(ours["trust"]["lost_events"], 0)
        return counts

    def test_each_family(self):
        for family in FAMILIES:
            with self.subTest(family=family):
                truth, ours = self.trace(BUILD / "workloads/families", family)
                self.compare(truth, ours)
                (self.path / "t.gputrace").unlink()

    def test_every_live_allocation_is_listed(self):
        truth, ours = self.trace(BUILD / "workloads/load", 3, self.path / "counters", 5000)
        counts = self.compare(truth, ours)
        live = self.gputrace("live", "--at", "end", "--kind", "device", "--top", "1000")
        self.assertEqual(sum(entry["count"] for entry in live["entries"]), counts["device"])
        self.assertEqual(sum(entry["bytes"] for entry in live["entries"]), live["bytes"])
        self.assertEqual(counts["device"], 57)
        functions = {frame["function"] for entry in live["entries"] for frame in entry["stack"]}
        self.assertTrue(any("Allocate<20>" in name for name in functions), functions)

    def test_what_the_driver_takes_for_itself(self):
        truth, ours = self.trace(BUILD / "workloads/families", "untraced")
        last = ours["untraced"][-1]
        used = truth["devices"][0]["used"]
        self.assertEqual(last["driver_used"], used)
        self.assertEqual(last["driver_used"], last["traced"] + last["untraced"])
        self.assertEqual(last["untraced"], sum(last["causes"].values()))
        # The stand-in takes a 64th of the card for each context, up to 256 MiB, and rounds modules up.
        self.assertEqual(last["causes"]["contexts"], 256 << 20)
        self.assertEqual(last["causes"]["other"], 256 << 20)
        self.assertEqual(last["causes"]["modules"], 2 << 20)
        self.assertEqual(ours["ledgers"]["pool_reserved"]["current"], 32 << 20)

    def test_what_has_no_sample_before_it_has_no_cause(self):
        truth, ours = self.trace(BUILD / "workloads/families", "unsampled")
        last = ours["untraced"][-1]
        self.assertEqual(last["untraced"], truth["devices"][0]["used"])
        self.assertEqual(last["causes"]["contexts"], 0)
        self.assertEqual(last["causes"]["other"], 512 << 20)

    def test_failures_change_nothing(self):
        os.environ["GPUSIM_FAIL"] = "cuMemAlloc_v2:p0.2=2,cuMemFree_v2:p0.1=700"
        self.addCleanup(os.environ.pop, "GPUSIM_FAIL")
        script = ("import ctypes, random\n"
                  "cuda = ctypes.CDLL('libcuda.so.1'); random.seed(5)\n"
                  "context, address, live = ctypes.c_void_p(), ctypes.c_uint64(), []\n"
                  "cuda.cuInit(0); cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)\n"
                  "cuda.cuCtxSetCurrent(context)\n"
                  "for i in range(2000):\n"
                  "  if random.random() < 0.55 or not live:\n"
                  "    if cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(100 * i + 1)) == 0:\n"
                  "      live.append(address.value)\n"
                  "  else:\n"
                  "    victim = random.choice(live)\n"
                  "    if cuda.cuMemFree_v2(ctypes.c_uint64(victim)) == 0: live.remove(victim)\n")
        truth, ours = self.trace("/usr/bin/python3", "-c", script)
        self.compare(truth, ours)
        self.assertGreater(ours["ledgers"]["device"]["failed"], 100)

    def test_memory_of_a_device_without_any_context(self):
        os.environ["GPUSIM_DEVICES"] = "2"
        self.addCleanup(os.environ.pop, "GPUSIM_DEVICES")
        # CUmemAllocationProp: pinned memory of device 1.
        script = ("import ctypes\n"
                  "cuda = ctypes.CDLL('libcuda.so.1')\n"
                  "properties, handle = (ctypes.c_int * 8)(1, 0, 1, 1), ctypes.c_uint64()\n"
                  "cuda.cuInit(0)\n"
                  "assert cuda.cuMemCreate(ctypes.byref(handle), ctypes.c_size_t(4 << 20), properties,\n"
                  "                        ctypes.c_uint64(0)) == 0\n")
        truth, ours = self.trace("/usr/bin/python3", "-c", script)
        self.compare(truth, ours)
        device = [device["ledgers"]["vmm"]["current"] for device in ours["devices"]]
        self.assertEqual(device, [0, 4 << 20], ours["devices"])

    def test_the_example(self):
        truth, ours = self.trace(sys.executable, SOURCE / "examples/train.py", "--epochs", 3, "--steps", 20)
        counts = self.compare(truth, ours)
        self.assertEqual(counts["device"], 3, "a loss per epoch")
        leaks = self.gputrace("leaks")
        self.assertEqual([verdict["bytes"] for verdict in leaks["verdicts"]], [3 * (3 << 20)])
        self.assertEqual(leaks["verdicts"][0]["count"], 3)

    def test_the_peak_is_exact(self):
        truth, ours = self.trace(sys.executable, SOURCE / "examples/train.py", "--epochs", 2, "--steps", 5)
        del truth
        mebi = 1 << 20
        # Parameters and gradients, twice the parameters of moments, four activations, one kept loss.
        expected = (116 + 116 + 232 + 4 * 16 + 3) * mebi
        self.assertEqual(ours["ledgers"]["device"]["peak"], expected)
        peak = self.gputrace("peak", "--kind", "device")
        self.assertEqual(peak["bytes"], expected)
        self.assertEqual(peak["covered_bytes"], expected)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]], verbosity=2)

# SPDX-License-Identifier: Apache-2.0
"""What a trace says of its own coverage: by which ways the driver was reached, and what was missed."""
import unittest

import traces

REAL = str(traces.BUILD / "lib/simulator/libcuda.so.1")
LATER_DRIVER = {"LD_LIBRARY_PATH": str(traces.BUILD / "workloads/forwarding"), "REAL_DRIVER": REAL}


class CoverageTest(traces.TraceTest):
    def info(self, *command, **environment):
        file = self.path / f"{'-'.join(command)}-{len(environment)}.gputrace"
        traces.trace(file, *command, **environment)
        return self.json("info", file)

    def test_ways(self):
        for way, command in {"linked": ["linked_lazy"], "dlsym": ["resolving", "dlsym"],
                             "cuGetProcAddress": ["resolving", "through_itself"]}.items():
            info = self.info(*command)
            reached = info["coverage"]["reached"]
            self.assertLessEqual({"cuMemAlloc_v2", "cuMemFree_v2", "cuCtxSetCurrent"}, set(reached[way]))
            for other in reached.keys() - {way}:
                self.assertNotIn("cuMemAlloc_v2", reached[other])
            self.assertTrue(info["trust"]["ledger_complete"])
            self.assertEqual(info["coverage"]["driver_exports_unknown"], 0)
            self.assertGreater(info["coverage"]["driver_exports"], 600)
            self.assertNotIn("coverage", info["events"]["by_type"])

    def test_what_merely_exists_is_listed(self):
        info = self.info("resolving", "dlsym", **LATER_DRIVER)
        self.assertEqual(info["coverage"]["unknown_memory_exports"], ["cuMemFancyAlloc"])
        self.assertEqual(info["coverage"]["driver_exports_unknown"], 2)
        self.assertEqual(info["trust"]["uncovered_entries"], ["cuMemFancyAlloc"])
        self.assertTrue(info["trust"]["ledger_complete"])

    def test_what_was_handed_out_is_distrusted(self):
        info = self.info("resolving", "uncovered", **LATER_DRIVER)
        self.assertEqual(info["coverage"]["handed_out_unknown"], ["cuMemFancyAlloc"])
        self.assertEqual(info["coverage"]["handed_out_unwrapped"], ["cuMemAlloc"])
        self.assertEqual(info["trust"]["uncovered_entries"], ["cuMemAlloc", "cuMemFancyAlloc"])
        self.assertFalse(info["trust"]["ledger_complete"])
        self.assertIn("calls of cuMemFancyAlloc may have been made unrecorded",
                      info["trust"]["reasons"])
        file = self.path / "resolving-uncovered-2.gputrace"
        self.assertIn("not known to this version: cuMemFancyAlloc", self.read("info", file))
        self.read("info", "--strict", file, code=3)


if __name__ == "__main__":
    unittest.main()

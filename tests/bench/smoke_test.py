# SPDX-License-Identifier: Apache-2.0
"""A short run of the benchmarks prints all rows, with all their keys."""
import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

BENCH = Path(__file__).resolve().parent / "bench.py"
SHORT = ["--build", os.environ["GPUTRACE_BUILD"], "--rounds", "1", "--pairs", "2000", "--events", "20000"]


def bench(*words):
    return subprocess.run([sys.executable, BENCH, *SHORT, *words], capture_output=True, text=True, timeout=300)


class BenchTest(unittest.TestCase):
    def rows(self, *words):
        result = bench("--json", *words)
        self.assertEqual(result.returncode, 0, result.stderr)
        return {row["name"]: row for row in map(json.loads, result.stdout.splitlines())}

    def test_all(self):
        rows = self.rows("all")
        capture = [f"capture/depth{depth}/{pace}" for depth in (10, 30, 60) for pace in ("paced", "unpaced")]
        capture.append("capture/depth30/many")
        self.assertEqual(list(rows), capture + ["bytes/train_loop", "analyzer/summary"])
        for name in capture:
            self.assertLessEqual({"ours_ns", "heaptrack_ns", "ratio", "runs"}, set(rows[name]))
        self.assertGreater(rows["bytes/train_loop"]["ours_bytes"], 0)
        self.assertGreater(rows["analyzer/summary"]["ours_events_per_s"], 0)

    def test_text_names_the_machine_and_the_method(self):
        result = bench("bytes")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(" cores, Linux ", result.stdout)
        self.assertIn("bytes of the whole trace file per event", result.stdout)
        self.assertIn("bytes/train_loop", result.stdout)

    def test_an_unknown_group(self):
        result = bench("speed")
        self.assertEqual(result.returncode, 2)
        self.assertIn("there is no group speed", result.stderr)


if __name__ == "__main__":
    unittest.main()

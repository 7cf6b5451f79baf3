# SPDX-License-Identifier: Apache-2.0
"""Traces of the workloads on the stand-in GPU, and the program that reads them."""
import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

BUILD = Path(os.environ["GPUTRACE_BUILD"])
GPUTRACE = BUILD / "bin/gputrace"
FAMILIES = ["linear", "managed", "host", "pools", "contexts", "reset", "arrays", "virtual", "modules"]


def clean_environment():
    return {name: value for name, value in os.environ.items()
            if not name.startswith(("GPUTRACE_", "GPUSIM_", "LD_"))} | {"NO_COLOR": "1"}


def trace(output, *command, check=True, **environment):
    """Runs a workload under the tracer; its trace is `output`."""
    return subprocess.run(
        [BUILD / "workloads" / command[0], *command[1:]], check=check, capture_output=True,
        timeout=120, env=clean_environment() | {
            "LD_PRELOAD": str(BUILD / "lib/libgputrace.so"),
            "LD_LIBRARY_PATH": str(BUILD / "lib/simulator"),
            "GPUTRACE_OUT": str(output)} | environment)


def gputrace(*words):
    return subprocess.run([GPUTRACE, *map(str, words)], capture_output=True, text=True, timeout=120,
                          env=clean_environment())


class TraceTest(unittest.TestCase):
    """Has a folder with a trace per family of calls."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="gputrace-analyzer-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.path = Path(cls.folder.name)
        cls.traces = cls.path / "traces"
        cls.traces.mkdir()
        for name in FAMILIES:
            trace(cls.traces / f"{name}.gputrace", "families", name,
                  GPUSIM_LEDGER=str(cls.path / f"{name}.json"))

    def of(self, name):
        return self.traces / f"{name}.gputrace"

    def read(self, *words, code=0):
        result = gputrace(*words)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(result.stderr, "")
        return result.stdout

    def json(self, *words, code=0):
        return json.loads(self.read(*words, "--json", code=code))

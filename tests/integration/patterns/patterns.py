# SPDX-License-Identifier: Apache-2.0
"""Runs scenes of the pattern workloads on the stand-in GPU under the tracer, and asks gputrace of them."""
import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

BUILD = Path(os.environ["GPUTRACE_BUILD"])
WORKLOADS = BUILD / "workloads/patterns"
MIB = 1 << 20


def environment(**more):
    clean = {name: value for name, value in os.environ.items()
             if not name.startswith(("GPUTRACE_", "GPUSIM_", "LD_"))}
    return clean | more


def traced(trace, **more):
    return environment(LD_PRELOAD=str(BUILD / "lib/libgputrace.so"),
                       LD_LIBRARY_PATH=str(BUILD / "lib/simulator"), GPUTRACE_OUT=str(trace), **more)


class PatternTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="gputrace-patterns-")
        self.addCleanup(self.folder.cleanup)
        self.path = Path(self.folder.name)
        self.trace = self.path / "t.gputrace"

    def play(self, *command, code=0, **more):
        """Traces a program anew."""
        self.trace.unlink(missing_ok=True)
        words = [str(word) for word in command]
        done = subprocess.run(words, env=traced(self.trace, **more), capture_output=True, text=True,
                              timeout=120)
        self.assertEqual(done.returncode, code, done.stderr)

    def ask(self, command, *options, trace=None):
        done = subprocess.run([BUILD / "bin/gputrace", command, "--json", *options, trace or self.trace],
                              env=environment(), capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def text(self, command, *options):
        done = subprocess.run([BUILD / "bin/gputrace", command, *options, self.trace],
                              env=environment(NO_COLOR="1"), capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def alive(self, kind=None):
        return [verdict for verdict in self.ask("leaks")["verdicts"]
                if verdict["fate"] == "alive" and kind in (None, verdict["kind"])]

    def only(self, kind, function, **expected):
        """The one finding of a kind that is alive; checks what it says."""
        found = self.alive(kind)
        self.assertEqual(len(found), 1, found)
        self.check(found[0], function, **expected)
        return found[0]

    def check(self, finding, function, **expected):
        self.assert_in_stack(function, finding["stack"])
        for key, value in expected.items():
            self.assertEqual(finding.get(key, finding["evidence"].get(key)), value, (key, finding))

    def assert_in_stack(self, function, stack):
        names = [frame["function"] for frame in stack]
        self.assertTrue(any(function in name for name in names), names)

    def assert_nothing(self):
        """Nothing to see at all: the bug is fixed."""
        leaks, summary = self.ask("leaks"), self.ask("summary")
        self.assertEqual(leaks["verdicts"], [])
        self.assertEqual(leaks["objects"], [])
        self.assertEqual(leaks["unknown_frees"], [])
        self.assertEqual(summary["pending"], [])
        self.assertEqual(summary["failed_frees"], 0)
        for name, ledger in summary["ledgers"].items():
            if name not in ("pool_reserved", "graph"):
                self.assertEqual(ledger["current"], 0, name)
        self.assert_trusted()

    def assert_trusted(self):
        trust = self.ask("info")["trust"]
        self.assertTrue(trust["ledger_complete"], trust)
        self.assertEqual(trust["unknown_frees"], 0)

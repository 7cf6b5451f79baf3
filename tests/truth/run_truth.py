#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plays programs on the stand-in driver under the tracer and compares the two accounts.

usage: run_truth.py BUILD_DIR random FIRST_SEED LAST_SEED STEPS   random programs, one for each seed
       run_truth.py BUILD_DIR fresh STEPS                         one of a seed that nobody has chosen
       run_truth.py BUILD_DIR kept                                the programs of kept/
       run_truth.py BUILD_DIR teeth                               leaving out any entry must be noticed
       run_truth.py BUILD_DIR shrink PROGRAM                      makes a failing program small

At a difference: the seed, the first difference, and a program that is as small as a minute's trying
makes it. Once it has been understood, such a program belongs into kept/.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

KEPT = pathlib.Path(__file__).parent / "kept"
SHRINK_SECONDS = 60
PLAY_SECONDS = 300

# Records that no account can miss: they say what the driver was asked or told (samples, exports,
# settings of a pool), or act on memory of graphs, which is measured and not accounted for. That they
# are there is seen by counting calls.
NO_CHANGE = set("""
    cuInit cuMemPoolTrimTo cuMemPoolSetAttribute cuMemPoolGetAttribute cuMemPoolExportToShareableHandle
    cuMemPoolExportPointer cuDeviceGetMemPool cuDeviceGetDefaultMemPool cuMemGetMemPool cuMemGetDefaultMemPool
    cuMulticastAddDevice cuIpcGetMemHandle cuGraphAddMemFreeNode cuGraphExecUpdate_v2 cuGraphClone
    cuGraphLaunch cuGraphLaunch_ptsz cuGraphUpload cuGraphUpload_ptsz cuDeviceGraphMemTrim
    cuDeviceGetGraphMemAttribute cuStreamBeginCapture cuStreamBeginCapture_ptsz cuStreamBeginCapture_v2
    cuStreamBeginCapture_v2_ptsz cuStreamBeginCaptureToGraph cuStreamEndCapture cuStreamEndCapture_ptsz
    cuThreadExchangeStreamCaptureMode cuCtxSetLimit cuCtxFromGreenCtx
    """.split())


class Runner:
    def __init__(self, build, folder):
        self.build = pathlib.Path(build).resolve()
        self.folder = pathlib.Path(folder)
        self.play_program = self.build / "truth/truth_play"
        self.compare_program = self.build / "truth/truth_compare"
        self.environment = dict(os.environ, LD_LIBRARY_PATH=str(self.build / "lib/simulator"))

    def make(self, seed, steps):
        return subprocess.run([self.play_program, "--make", str(seed), str(steps)], env=self.environment,
                              check=True, capture_output=True, text=True).stdout

    def play(self, program):
        """Plays it; returns what went wrong, "" if nothing."""
        for old in self.folder.iterdir():
            old.unlink()
        (self.folder / "program.txt").write_text(program)
        # Rings that do not overflow on a machine that is busy with other tests.
        environment = dict(
            self.environment, LD_PRELOAD=str(self.build / "lib/libgputrace.so"), GPUTRACE_RING="16MiB",
            GPUTRACE_OUT=str(self.folder / "%p.gputrace"), GPUSIM_JOURNAL=str(self.folder / "journal"),
            GPUSIM_LEDGER=str(self.folder / "ledger.json"))
        try:
            done = subprocess.run([self.play_program, self.folder / "program.txt"], env=environment,
                                  capture_output=True, text=True, timeout=PLAY_SECONDS)
        except subprocess.TimeoutExpired:
            return "the program hangs"
        if done.returncode != 0:
            return f"the program ended with {done.returncode}\n{done.stderr}"
        return ""

    def main_trace(self, suffix=""):
        """The trace of the program itself, or of its peer; None if there is no such process."""
        path = self.folder / f"ledger.json{suffix}"
        if not path.exists():
            return None
        return self.folder / f"{json.loads(path.read_text())['pid']}.gputrace"

    def compare(self):
        """Of the last program; returns the first difference, "" if there is none."""
        main = self.main_trace()
        runs = [[self.folder / "journal", self.folder / "ledger.json", main]]
        peer = self.main_trace(".peer")
        if peer:
            runs.append([self.folder / "journal.peer", self.folder / "ledger.json.peer", peer])
        runs += [["--child", trace] for trace in self.folder.glob("*.gputrace") if trace not in (main, peer)]
        for arguments in runs:
            done = subprocess.run([self.compare_program, *arguments], capture_output=True, text=True)
            if done.returncode != 0:
                return done.stdout + done.stderr
        return ""

    def missed_entries(self, suffix):
        """The recorded entries that were called, and those whose records somebody would miss."""
        trace = self.main_trace(suffix)
        if not trace:
            return set(), set()
        calls = json.loads((self.folder / f"ledger.json{suffix}").read_text())["calls"]
        done = subprocess.run([self.compare_program, "--teeth", self.folder / f"journal{suffix}", trace],
                              check=True, capture_output=True, text=True)
        entries = [line.split() for line in done.stdout.splitlines()]
        called = {symbol for symbol, entry_class, _ in entries if entry_class == "record" and calls.get(symbol)}
        return called, {symbol for symbol, _, verdict in entries if verdict == "noticed"}

    def check(self, program):
        return self.play(program) or self.compare()


class Shrinker:
    """Leaves out steps as long as the rest still fails in the same way (delta debugging)."""

    def __init__(self, runner, program, difference):
        self.runner = runner
        self.kind = self.kind_of(difference)
        self.deadline = time.monotonic() + SHRINK_SECONDS
        self.lines = program.splitlines()

    def shrink(self):
        # Without threads beside each other each trial says the same as the last one.
        serial = [line.replace("phase parallel", "phase serial") for line in self.lines]
        if self.fails(serial):
            self.lines = serial
        size = len(self.lines) // 2
        while size >= 1 and time.monotonic() < self.deadline:
            if not self.pass_over(size):
                size //= 2
        self.pass_over(1)
        return "\n".join(self.lines) + "\n"

    def pass_over(self, size):
        before = len(self.lines)
        at = len(self.lines)
        while at > 0 and time.monotonic() < self.deadline:
            start = max(0, at - size)
            part = self.lines[start:at]
            needed = [line for line in part if line.startswith("threads")]
            candidate = self.lines[:start] + needed + self.lines[at:]
            if len(needed) < len(part) and self.fails(candidate):
                self.lines = candidate
            at = start
        return len(self.lines) < before

    def fails(self, lines):
        tries = 3 if any(line == "phase parallel" for line in lines) else 1
        return any(self.kind_of(self.runner.check("\n".join(lines) + "\n")) == self.kind for _ in range(tries))

    @staticmethod
    def kind_of(difference):
        """What it is about, without addresses."""
        return "".join(difference.splitlines()[:1]).split("0x")[0]


def report(runner, name, program, difference):
    print(f"{name}: the accounts differ\n{difference}", flush=True)
    print("the smallest program that does so, found in a minute:")
    print(Shrinker(runner, program, difference).shrink())
    return 1


def random_programs(runner, first, last, steps):
    started = time.monotonic()
    for seed in range(first, last + 1):
        program = runner.make(seed, steps)
        difference = runner.check(program)
        if difference:
            return report(runner, f"seed {seed} with {steps} steps", program, difference)
    seconds = time.monotonic() - started
    total = steps * (last + 1 - first)
    print(f"{last + 1 - first} programs of {steps} steps: no difference, {total / seconds:.0f} steps a second")
    return 0


def kept_programs(runner):
    programs = sorted(KEPT.glob("*.txt"))
    for path in programs:
        difference = runner.check(path.read_text())
        if difference:
            print(f"{path.name}: the accounts differ\n{difference}")
            return 1
    print(f"{len(programs)} programs: no difference")
    return 0


def teeth(runner):
    """Each entry that was exercised must be missed in some program."""
    exercised, noticed = set(), set()
    programs = {path.name: path.read_text() for path in KEPT.glob("*.txt")}
    programs.update((f"seed {seed}", runner.make(seed, 12000)) for seed in range(1, 13))
    for name, program in programs.items():
        difference = runner.check(program)
        if difference:
            print(f"{name}\n{difference}")
            return 1
        for suffix in ("", ".peer"):
            called, missed = runner.missed_entries(suffix)
            exercised |= called
            noticed |= missed
    blunt = exercised - noticed - NO_CHANGE
    print(f"{len(exercised)} entries that are recorded were called; leaving out {len(exercised & noticed)} of them "
          f"changes the account")
    if blunt:
        print("nobody would miss the records of:", *sorted(blunt))
    return 1 if blunt else 0


def main():
    build, command, *rest = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(build, folder)
        if command == "random":
            return random_programs(runner, int(rest[0]), int(rest[1]), int(rest[2]))
        if command == "fresh":
            seed = int.from_bytes(os.urandom(4), "little")
            print(f"seed {seed}", flush=True)
            return random_programs(runner, seed, seed, int(rest[0]))
        if command == "kept":
            return kept_programs(runner)
        if command == "teeth":
            return teeth(runner)
        if command == "shrink":
            program = pathlib.Path(rest[0]).read_text()
            difference = runner.check(program)
            return report(runner, rest[0], program, difference) if difference else 0
    return 2


if __name__ == "__main__":
    sys.exit(main())

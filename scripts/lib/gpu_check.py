# SPDX-License-Identifier: Apache-2.0
"""Compares a real driver with the stand-in, program by program. See scripts/gpu-check.

usage: gpu_check.py BUILD_DIR [--driver FOLDER]
"""
import ctypes
import json
import os
import pathlib
import subprocess
import sys
import tempfile

PROGRAMS = [("families", name) for name in
            "linear managed host pools contexts reset arrays virtual modules untraced".split()]
# What may differ from driver to driver and is no error: sizes that it rounds.
ROUNDED = {"array"}


def has_gpu(folder):
    path = f"{folder}/libcuda.so.1" if folder else "libcuda.so.1"
    try:
        driver = ctypes.CDLL(path)
    except OSError:
        return False
    count = ctypes.c_int()
    return driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0


class Checker:
    def __init__(self, build, driver, folder):
        self.build = build
        self.folder = folder
        self.drivers = {"real": driver, "stand-in": str(build / "lib/simulator")}
        self.differences = 0

    def run(self, kind, program):
        """Traces one program; returns what there is to compare."""
        trace = self.folder / f"{kind}-{'-'.join(program)}.gputrace"
        environment = {name: value for name, value in os.environ.items() if not name.startswith("LD_")}
        environment |= {"LD_PRELOAD": str(self.build / "lib/libgputrace.so"), "GPUTRACE_OUT": str(trace)}
        if self.drivers[kind]:
            environment["LD_LIBRARY_PATH"] = self.drivers[kind]
        done = subprocess.run([self.build / "workloads" / program[0], *program[1:]], env=environment,
                              capture_output=True, text=True, timeout=300)
        seen = {"exit code": done.returncode, "output": done.stdout + done.stderr}
        summary = self.read("summary", trace)
        if summary is None:
            return seen
        for name, ledger in summary["ledgers"].items():
            if name in ("pool_reserved", "graph"):
                continue  # the driver's own affair
            for key in ("current", "allocs", "frees", "failed"):
                if not (key == "current" and name in ROUNDED):
                    seen[f"{name} {key}"] = ledger[key]
        seen["trusted"] = summary["trust"]["ledger_complete"]
        # More may be in use than we know of, never less.
        seen["driver's count covers ours"] = all(one["untraced"] >= 0 for one in summary["untraced"])
        calls = {}
        for line in self.dump(trace):
            if line["call"] and line["kind"] in ("call", "intent", "completion"):
                key = (line["call"], line["kind"], line["result"])
                calls[key] = calls.get(key, 0) + 1
        seen["calls"] = {" ".join(map(str, key)): count for key, count in sorted(calls.items())
                         if key[1] != "completion" or key[2] != 0}
        return seen

    def read(self, command, trace):
        done = subprocess.run([self.build / "bin/gputrace", command, "--json", "--no-symbols", trace],
                              capture_output=True, text=True)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def dump(self, trace):
        done = subprocess.run([self.build / "bin/gputrace", "dump", "--json", "--no-symbols", trace],
                              capture_output=True, text=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def compare(self, program):
        real, stand_in = self.run("real", program), self.run("stand-in", program)
        different = [key for key in {**real, **stand_in} if real.get(key) != stand_in.get(key)]
        print(f"{' '.join(program)}: {'differs' if different else 'the same'}")
        for key in different:
            self.differences += 1
            print(f"  {key}: {real.get(key)} on the real driver, {stand_in.get(key)} on the stand-in")


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    driver = sys.argv[3] if len(sys.argv) > 3 and sys.argv[2] == "--driver" else ""
    if not has_gpu(driver):
        print("no GPU here: nothing was compared")
        return 0
    with tempfile.TemporaryDirectory(prefix="gputrace-gpu-check-") as folder:
        checker = Checker(build, driver, pathlib.Path(folder))
        for program in PROGRAMS:
            checker.compare(program)
    print(f"{checker.differences} differences in {len(PROGRAMS)} programs")
    return 1 if checker.differences else 0


if __name__ == "__main__":
    sys.exit(main())

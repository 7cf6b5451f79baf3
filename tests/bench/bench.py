# SPDX-License-Identifier: Apache-2.0
"""Measures what tracing costs, beside heaptrack on the same pattern of allocations in the same run.

Each round runs all variants after one another, so that a busy machine is busy for all of them. Called by scripts/bench. A slow number is no failure."""
import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EVENTS_PER_PAIR = 2
PACE_NS = 800
DEPTHS = (10, 30, 60)
CHANGED_FRAMES = {10: 5, 30: 10, 60: 10}  # innermost ones that differ from call to call
PATHS = 30
MANY_PATHS = 300
TRAIN_EVENTS = 1_000_000


class Bench:
    def __init__(self, build, rounds, pairs, events, folder):
        self.build, self.rounds, self.pairs, self.events, self.folder = build, rounds, pairs, events, folder
        self.program = build / "tests/bench_allocations"
        self.heaptrack = shutil.which("heaptrack")
        self.number = 0

    def fresh(self, suffix):
        self.number += 1
        return self.folder / f"{self.number}{suffix}"

    def environment(self, **variables):
        kept = {n: v for n, v in os.environ.items() if not n.startswith(("GPUTRACE_", "GPUSIM_", "LD_"))}
        return kept | {"LD_LIBRARY_PATH": str(self.build / "lib/simulator")} | variables

    def run(self, words, **variables):
        """Runs a program and returns the line of JSON that it prints."""
        result = subprocess.run([str(word) for word in words], env=self.environment(**variables),
                                capture_output=True, text=True, check=False)
        lines = [line for line in result.stdout.splitlines() if line.startswith("{")]
        if result.returncode != 0 or len(lines) != 1:
            raise SystemExit(f"bench: {words[0]} failed ({result.returncode}): {result.stderr.strip()}")
        return json.loads(lines[0])

    def plain(self, kind, *pattern, **variables):
        return self.run([self.program, kind, *pattern], **variables)

    def ours(self, *pattern, **variables):
        trace = self.fresh(".gputrace")
        line = self.run([self.program, "device", *pattern], GPUTRACE_OUT=str(trace),
                        LD_PRELOAD=str(self.build / "lib/libgputrace.so"), **variables)
        return line, trace

    def theirs(self, *pattern):
        data = self.fresh("")
        line = self.run([self.heaptrack, "--output", data, self.program, "host", *pattern])
        files = list(self.folder.glob(f"{data.name}.*"))
        # The script returns before its compressor has written all.
        size = -1
        while size != (size := files[0].stat().st_size):
            time.sleep(0.1)
        return line, files[0]

    def capture(self):
        for depth in DEPTHS:
            for pace, name in ((PACE_NS, "paced"), (0, "unpaced")):
                yield self.capture_row(f"capture/depth{depth}/{name}", depth, pace)
        yield self.capture_row("capture/depth30/many", 30, PACE_NS, MANY_PATHS)

    def capture_row(self, name, depth, pace, paths=PATHS):
        pattern = ["pairs", self.pairs, depth, CHANGED_FRAMES[depth], paths, pace]
        # Paced, what a typical call costs its thread (the mean of the middle half); unpaced, all time that passes, waiting included.
        key = "call_middle_ns" if pace else "wall_ns"
        quick = {"LD_LIBRARY_PATH": str(self.build / "tests/bench_driver")}
        taken = {"device": [], "ours": [], "ours_free_stacks": [], "host": [], "heaptrack": []}
        for _ in range(self.rounds):
            taken["device"].append(self.plain("device", *pattern, **quick))
            for which, options in (("ours", {"GPUTRACE_FREE_STACKS": "off"}), ("ours_free_stacks", {})):
                line, trace = self.ours(*pattern, **options, **quick)
                taken[which].append(line)
                trace.unlink()
            if self.heaptrack:
                taken["host"].append(self.plain("host", *pattern))
                line, data = self.theirs(*pattern)
                taken["heaptrack"].append(line)
                data.unlink()
        row = {"name": name, "runs": self.rounds, "depth": depth}
        for which, base in (("ours", "device"), ("ours_free_stacks", "device"), ("heaptrack", "host")):
            row[f"{which}_ns"] = added(taken[which], taken[base], key)
        for which, base in (("ours", "device"), ("heaptrack", "host")):
            row[f"{which}_mean_ns"] = added(taken[which], taken[base], "call_ns")
        row["ratio"] = ratio(row["ours_ns"], row["heaptrack_ns"])
        return row

    def bytes(self):
        line, trace = self.ours("train", self.events)
        row = {"name": "bytes/train_loop", "runs": 1, "events": line["events"],
               "ours_bytes": round(trace.stat().st_size / line["events"], 3), "heaptrack_bytes": None}
        if self.heaptrack:
            theirs, data = self.theirs("train", self.events)
            row["heaptrack_bytes"] = round(data.stat().st_size / theirs["events"], 3)
        row["ratio"] = ratio(row["ours_bytes"], row["heaptrack_bytes"])
        yield row

    def analyzer(self):
        line, trace = self.ours("train", self.events)
        read_ours = [self.build / "bin/gputrace", "summary", "--no-symbols", "--json", trace]
        ours, theirs = [], []
        if self.heaptrack:
            their_line, data = self.theirs("train", self.events)
            # All of its reports off: reading alone.
            read_theirs = ["heaptrack_print", "-f", data, "-a", "0", "-p", "0", "-T", "0", "-l", "0"]
        for _ in range(self.rounds):
            ours.append(self.timed(read_ours))
            if self.heaptrack:
                theirs.append(self.timed(read_theirs))
        row = {"name": "analyzer/summary", "runs": self.rounds, "events": line["events"],
               "ours_events_per_s": round(line["events"] / statistics.median(ours)),
               "heaptrack_events_per_s": None}
        if theirs:
            row["heaptrack_events_per_s"] = round(their_line["events"] / statistics.median(theirs))
        row["ratio"] = ratio(row["ours_events_per_s"], row["heaptrack_events_per_s"])
        yield row

    def timed(self, words):
        start = time.monotonic()
        result = subprocess.run([str(word) for word in words], env=self.environment(),
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        if result.returncode != 0:
            raise SystemExit(f"bench: {words[0]} failed: {result.stderr.strip()}")
        return time.monotonic() - start


def added(with_tracer, without, key):
    """Per event, of the quietest runs: a busy machine only ever adds."""
    if not with_tracer:
        return None
    pair = min(line[key] for line in with_tracer) - min(line[key] for line in without)
    return round(pair / EVENTS_PER_PAIR, 1)


def ratio(ours, theirs):
    return round(ours / theirs, 3) if ours is not None and theirs else None


def machine():
    model = next((line.partition(":")[2].strip() for line in open("/proc/cpuinfo", encoding="utf-8")
                  if line.startswith("model name")), platform.machine())
    load = os.getloadavg()[0]
    return f"{model}, {os.cpu_count()} cores, Linux {platform.release()}, load {load:.1f} at the start"


METHODS = {
    "capture": f"""added ns per event (an allocation or a free), on the thread that calls: tracer minus no tracer,
{PATHS} call paths that differ in their inner 5 (depth 10) or 10 frames, 64 allocations alive. paced: typical call with
{PACE_NS} ns of work between pairs; unpaced: all time that passes; many: paced, {MANY_PATHS} paths. heaptrack:
malloc and free, stacks on malloc only; ours: cuMemAlloc and cuMemFree, alike, on a driver that does no more than hand
out addresses; +free: stacks on frees too, as is the default. The quietest of the runs of each""",
    "bytes": "bytes of the whole trace file per event; steps of a training loop, 288 stacks 24 deep",
    "analyzer": "events per second: `gputrace summary`, and heaptrack_print with all its reports off, on the same loop",
}


def show(key, value):
    if value is None or isinstance(value, int):
        return "-" if value is None else f"{value:,}"
    return f"{value:,.1f}" if key.endswith("_ns") else f"{value:,.3f}"


def print_text(rows_by_group):
    print(machine())
    for group, rows in rows_by_group:
        print(f"\n{METHODS[group]}\n")
        keys = [key for key in rows[0] if key.endswith(("_ns", "_bytes", "_per_s"))]
        keys = [key for key in keys if not key.endswith("_mean_ns")] + ["ratio"]
        titles = [key.removesuffix("_ns").removesuffix("_bytes").removesuffix("_events_per_s")
                  .replace("ours_free_stacks", "+free") for key in keys]
        print(f"{'':24}" + "".join(f"{title:>14}" for title in titles))
        for row in rows:
            print(f"{row['name']:24}" + "".join(f"{show(key, row[key]):>14}" for key in keys))


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument("groups", nargs="*", metavar="capture|bytes|analyzer|all", default=["all"])
    parser.add_argument("--json", action="store_true", help="a line of JSON per row")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each variant (5)")
    parser.add_argument("--pairs", type=int, default=100_000, help="allocations and frees per run (100000)")
    parser.add_argument("--events", type=int, default=TRAIN_EVENTS, help="of the training loop (1000000)")
    parser.add_argument("--build", type=Path, required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    groups = list(METHODS) if "all" in options.groups else options.groups
    for group in groups:
        if group not in METHODS:
            parser.error(f"there is no group {group}: capture, bytes, analyzer or all")
    with tempfile.TemporaryDirectory(prefix="gputrace-bench-") as folder:
        bench = Bench(options.build, options.rounds, options.pairs, options.events, Path(folder))
        if not bench.heaptrack:
            print("bench: heaptrack is not installed: ours alone", file=sys.stderr)
        done = []
        for group in groups:
            rows = []
            for row in getattr(bench, group)():
                rows.append(row)
                if options.json:
                    print(json.dumps(row), flush=True)
            done.append((group, rows))
        if not options.json:
            print_text(done)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""What the commands say agrees with the stand-in GPU's own account, and with each other."""
import collections
import json
import unittest

import traces

# The stand-in's kinds and the ledgers they belong to.
LEDGERS = {"device": "device", "managed": "managed", "pinned": "pinned", "registered": "registered",
           "pool": "pool_used", "vmm": "vmm", "array": "array", "mipmap": "array",
           "reserved_va": "reserved_va"}


class AnswersTest(traces.TraceTest):
    def truth(self, name):
        sums = collections.Counter()
        counts = collections.Counter()
        for item in json.loads((self.path / f"{name}.json").read_text())["live"]:
            if item["kind"] in LEDGERS:
                sums[LEDGERS[item["kind"]]] += item["size"]
                counts[LEDGERS[item["kind"]]] += 1
        return sums, counts

    def test_leaks_are_what_is_alive(self):
        for name in traces.FAMILIES:
            with self.subTest(name):
                _, counts = self.truth(name)
                leaks = self.json("leaks", self.of(name))
                alive = sum(v["count"] for v in leaks["verdicts"]
                            if v["fate"] == "alive" and v["kind"] != "alias")
                self.assertEqual(alive, sum(counts.values()))

    def test_what_contexts_freed_is_kept_apart(self):
        leaks = self.json("leaks", self.of("contexts"))
        ended = [v for v in leaks["verdicts"] if v["fate"] == "freed_by_context_destruction"]
        self.assertTrue(ended)
        self.assertEqual({v["verdict"] for v in ended}, {"late_freed"})

    def test_peak_and_live_agree_with_the_summary(self):
        for name in traces.FAMILIES:
            with self.subTest(name):
                summary = self.json("summary", self.of(name))
                peak = self.json("peak", self.of(name))
                self.assertEqual(peak["bytes"], summary["peak"]["bytes"])
                self.assertEqual(peak["covered_bytes"], peak["bytes"])
                self.assertEqual(sum(entry["bytes"] for entry in peak["entries"]), peak["bytes"])
                at_peak = self.json("live", self.of(name), "--at", f"{peak['time'] / 1e9:.9f}")
                self.assertEqual(at_peak["bytes"], peak["bytes"])
                live = self.json("live", self.of(name))
                self.assertEqual(live["bytes"], sum(
                    summary["ledgers"][ledger]["current"]
                    for ledger in ("device", "array", "vmm", "pool_used")))

    def test_the_timeline_ends_and_peaks_where_the_summary_says(self):
        for name in traces.FAMILIES:
            with self.subTest(name):
                peak = self.json("peak", self.of(name))
                total = self.json("timeline", self.of(name))["total"]
                self.assertEqual(total["peak"], peak["bytes"])
                if total["points"]:
                    self.assertEqual(max(point["bytes"] for point in total["points"]), peak["bytes"])
                    self.assertEqual(total["points"][-1]["bytes"], total["current"])

    def test_several_traces_are_one_job(self):
        job = self.json("summary", self.traces)
        sums = collections.Counter()
        for name in traces.FAMILIES:
            sums += self.truth(name)[0]
        self.assertEqual(len(job["traces"]), len(traces.FAMILIES))
        self.assertEqual(len(job["devices"]), 1)
        for ledger in LEDGERS.values():
            self.assertEqual(job["ledgers"][ledger]["current"], sums[ledger], ledger)
        # They ran one after another: the job never held more than one of them did.
        highest = max(self.json("summary", self.of(name))["ledgers"]["device"]["peak"]
                      for name in traces.FAMILIES)
        self.assertEqual(job["ledgers"]["device"]["peak"], highest)

    def test_every_line_of_code_is_found(self):
        peak = self.json("peak", self.of("linear"))
        frame = peak["entries"][0]["stack"][0]
        self.assertEqual(frame["function"], "Linear")
        self.assertTrue(frame["file"].endswith("families.cc"))
        self.assertGreater(frame["line"], 0)

    def test_fingerprints_are_the_same_in_every_run(self):
        again = self.path / "again.gputrace"
        traces.trace(again, "families", "linear")
        first, second = (sorted(entry["fingerprint"] for entry in self.json("peak", file)["entries"])
                         for file in (self.of("linear"), again))
        self.assertEqual(first, second)

    def test_a_killed_process_keeps_what_it_did(self):
        for end in ("abort", "segv", "_exit"):
            with self.subTest(end):
                file = self.path / f"{end}.gputrace"
                traces.trace(file, "exits", end, check=False)
                summary = self.json("summary", file)
                self.assertEqual(summary["ledgers"]["device"]["allocs"], 1)
                self.assertEqual(self.json("info", file)["ended"], "killed")
                self.assertTrue(summary["traces"][0]["complete"], summary["trust"])


if __name__ == "__main__":
    unittest.main()

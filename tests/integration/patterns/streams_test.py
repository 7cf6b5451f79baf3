# SPDX-License-Identifier: Apache-2.0
"""Stream-ordered memory is allocated, pending or reusable; without evidence it stays pending."""
import unittest

from patterns import MIB, WORKLOADS, PatternTest

PROGRAM = WORKLOADS / "streams"


class StreamsTest(PatternTest):
    def pending(self, count, blocks=MIB):
        summary = self.ask("summary")
        self.assertEqual(summary["ledgers"]["pool_pending"]["current"], count * blocks)
        self.assertEqual(sum(group["count"] for group in summary["pending"]), count)
        self.assertEqual(sum(group["bytes"] for group in summary["pending"]), count * blocks)
        self.assertEqual(summary["ledgers"]["pool_used"]["current"], 0, "it is freed all the same")
        self.assertEqual(self.alive(), [])
        self.assert_trusted()
        return summary["pending"]

    def test_the_fixed_programs_leave_nothing(self):
        for scene in ("unused_stream", "no_synchronisation", "evidence", "early_event",
                      "destroyed_stream", "ramp", "block"):
            with self.subTest(scene):
                self.play(PROGRAM, scene, "healthy")
                self.assert_nothing()

    def test_frees_on_a_stream_that_nobody_waits_for(self):
        self.play(PROGRAM, "unused_stream")
        group, = self.pending(16)
        self.assertEqual(group["freed_on"], "legacy")
        self.assertNotEqual(group["allocated_on"], "legacy")
        self.assertIn("freed on stream legacy", self.text("summary"))
        live = self.ask("live", "--kind", "pool_pending")
        self.assertEqual(live["bytes"], 16 * MIB)
        self.assert_in_stack("AllocateBlock", live["entries"][0]["stack"])

    def test_the_legacy_stream_is_ordered_with_blocking_ones(self):
        self.play(PROGRAM, "blocking_streams")
        self.assert_nothing()

    def test_no_synchronisation_at_all(self):
        self.play(PROGRAM, "no_synchronisation")
        group, = self.pending(1)
        self.assertEqual(group["freed_on"], group["allocated_on"])

    def test_each_kind_of_evidence(self):
        self.play(PROGRAM, "evidence")
        self.pending(4)

    def test_an_event_before_the_free(self):
        self.play(PROGRAM, "early_event")
        self.pending(1)

    def test_a_stream_that_was_destroyed(self):
        self.play(PROGRAM, "destroyed_stream")
        self.pending(1)

    def test_memory_that_is_handed_out_again_counts_once(self):
        self.play(PROGRAM, "reuse")
        self.assert_nothing()
        ledgers = self.ask("summary")["ledgers"]
        self.assertEqual(ledgers["pool_used"]["allocs"], 101)
        self.assertEqual(ledgers["pool_pending"]["peak"], MIB)

    def test_an_allocation_that_waiting_would_have_saved(self):
        self.play(PROGRAM, "ramp", GPUSIM_FAIL="cuMemAllocAsync:25=2")
        groups = self.pending(24)
        self.assertEqual(len(groups), 3)
        pools = self.ask("summary")["ledgers"]["pool_used"]
        self.assertEqual(pools["failed"], 1)
        self.assertEqual(pools["frees"], 24)

    def test_freed_by_the_other_function(self):
        self.play(PROGRAM, "other_function")
        self.assert_nothing()

    def test_a_block(self):
        self.play(PROGRAM, "block")
        self.only("pool", "AllocateBlock", bytes=MIB, count=1, device=0, missing_call="cuMemFreeAsync")


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""Frees that fail, frees of what was not seen, frees that come too late."""
import sys
import unittest
from pathlib import Path

from patterns import MIB, WORKLOADS, PatternTest

PROGRAM = WORKLOADS / "refused"
PYTHON = Path(__file__).resolve().parents[2] / "workloads/patterns/collected_late.py"
INVALID_CONTEXT = 201
NOT_PERMITTED = 800


class RefusalsTest(PatternTest):
    def refusal(self, finding, result, count):
        refused, = finding["evidence"]["failed_frees"]
        self.assertEqual((refused["result"], refused["count"]), (result, count))
        self.assertEqual(self.ask("summary")["failed_frees"], count)
        return refused

    def test_the_fixed_programs_leave_nothing(self):
        for scene in ("callback", "no_context", "unseen", "unseen_free", "registration"):
            with self.subTest(scene):
                self.play(PROGRAM, scene, "healthy")
                self.assert_nothing()

    def test_in_a_callback(self):
        self.play(PROGRAM, "callback")
        found = self.only("pinned", "AllocatePinned", bytes=20 * 4000, count=20, device=None,
                          missing_call="cuMemFreeHost", allocations=20, freed_by_call=0)
        self.assert_in_stack("FreeInCallback", self.refusal(found, NOT_PERMITTED, 20)["stack"])
        self.assertIn("20 times with CUDA_ERROR_NOT_PERMITTED", self.text("leaks"))

    def test_without_a_context(self):
        self.play(PROGRAM, "no_context")
        found = self.only("device", "AllocateDevice", bytes=3 * MIB, count=3, device=0,
                          missing_call="cuMemFree", freed_by_call=0)
        self.assert_in_stack("Finalise", self.refusal(found, INVALID_CONTEXT, 3)["stack"])

    def test_in_a_finaliser_of_python(self):
        self.play(sys.executable, PYTHON)
        found, = self.alive("device")
        self.assertEqual((found["bytes"], found["count"]), (5 * MIB, 5))
        refused = found["evidence"]["failed_frees"]
        self.assertEqual({one["result"] for one in refused}, {INVALID_CONTEXT})
        self.assertEqual(sum(one["count"] for one in refused), 5)
        self.play(sys.executable, PYTHON, "healthy")
        self.assert_nothing()

    def test_the_second_try_counts(self):
        self.play(PROGRAM, "second_try")
        self.assertEqual(self.alive(), [])
        summary = self.ask("summary")
        self.assertEqual(summary["failed_frees"], 1)
        self.assertEqual(summary["ledgers"]["device"]["frees"], 1)

    def test_when_the_driver_has_gone(self):
        self.play(PROGRAM, "after_teardown", GPUSIM_FAIL="cuMemFree_v2:1=4")
        self.assertEqual(self.alive(), [])
        found, = self.ask("leaks")["verdicts"]
        self.check(found, "AllocateDevice", fate="freed_at_shutdown", verdict="late_freed", bytes=MIB)
        self.assertEqual(self.ask("summary")["failed_frees"], 0)

    def test_what_was_not_seen_being_allocated(self):
        self.play(PROGRAM, "unseen")
        leaks = self.ask("leaks")
        self.assertEqual(leaks["verdicts"], [])
        free, = leaks["unknown_frees"]
        self.assertEqual((free["call"], free["count"]), ("cuMemFreeAsync", 1))
        self.assert_in_stack("FreeUnseen", free["stack"])
        self.assertEqual(leaks["trust"]["unknown_frees"], 1)
        self.assertTrue(leaks["trust"]["ledger_complete"], "nothing that was seen is wrong")
        self.assertIn("not seen being allocated", self.text("leaks"))

    def test_a_free_that_was_not_seen(self):
        self.play(PROGRAM, "unseen_free")
        self.only("device", "AllocateDevice", bytes=3 * MIB, count=1)
        self.assertFalse(self.ask("info")["trust"]["ledger_complete"])
        self.assertEqual(self.ask("summary")["ledgers"]["device"]["peak"], 3 * MIB)

    def test_a_registration_that_outlives_its_mapping(self):
        self.play(PROGRAM, "registration")
        self.only("registered", "RegisterRange", bytes=64 * 1024, count=1, device=None,
                  missing_call="cuMemHostUnregister")
        ledgers = self.ask("summary")["ledgers"]
        self.assertEqual(ledgers["registered"]["failed"], 1)
        self.assertEqual(ledgers["device"]["current"], 0, "registered memory is not the device's")


if __name__ == "__main__":
    unittest.main()

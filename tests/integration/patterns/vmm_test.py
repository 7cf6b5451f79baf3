# SPDX-License-Identifier: Apache-2.0
"""Memory of cuMemCreate: a survivor names what still holds it."""
import unittest

from patterns import MIB, WORKLOADS, PatternTest

PROGRAM = WORKLOADS / "vmm"


class VmmTest(PatternTest):
    def test_the_fixed_programs_leave_nothing(self):
        for scene in ("creation_reference", "mapping", "range", "two_mappings", "own_import", "reuse"):
            with self.subTest(scene):
                self.play(PROGRAM, scene, "healthy")
                self.assert_nothing()

    def test_the_reference_of_the_creation(self):
        self.play(PROGRAM, "creation_reference")
        self.only("vmm", "CreateMemory", bytes=64 * 4 * MIB, count=64, device=0,
                  missing_call="cuMemRelease", handle_references=1, mappings=0)
        self.assertEqual(len(self.alive()), 1, "ranges and mappings are in balance")
        self.assertIn("held by 1 references and 0 mappings", self.text("leaks"))
        self.assert_trusted()

    def test_a_mapping(self):
        self.play(PROGRAM, "mapping")
        self.only("vmm", "CreateMemory", bytes=4 * MIB, missing_call="cuMemUnmap",
                  handle_references=0, mappings=1)
        self.only("reserved_va", "ReserveRange", bytes=4 * MIB, missing_call="cuMemAddressFree")

    def test_a_range(self):
        self.play(PROGRAM, "range")
        self.only("reserved_va", "ReserveRange", bytes=4 * MIB, device=None,
                  missing_call="cuMemAddressFree")
        self.assertEqual(len(self.alive()), 1)

    def test_a_mapping_that_failed_half_way(self):
        fail = {"GPUSIM_FAIL": "cuMemMap:6=2"}
        self.play(PROGRAM, "partial_map", code=-6, **fail)
        self.assertEqual(self.ask("info")["ended"], "killed")
        found = {verdict["evidence"]["mappings"]: verdict for verdict in self.alive("vmm")}
        self.assertEqual(sorted(found), [0, 1])
        for mappings, count in ((0, 3), (1, 5)):
            self.check(found[mappings], "CreateMemory", count=count, bytes=count * 2 * MIB,
                       missing_call="cuMemRelease", handle_references=1)
        refused, = found[1]["evidence"]["failed_frees"]
        self.assertEqual((refused["result"], refused["count"]), (1, 5))
        self.assert_in_stack("PartialMap", refused["stack"])
        self.assertNotIn("failed_frees", found[0]["evidence"])
        self.assertEqual(self.ask("summary")["failed_frees"], 1)
        self.play(PROGRAM, "partial_map", "healthy", **fail)
        self.assert_nothing()

    def test_one_of_two_mappings(self):
        self.play(PROGRAM, "two_mappings")
        self.only("vmm", "CreateMemory", count=1, bytes=2 * MIB, missing_call="cuMemUnmap", mappings=1)
        self.assertEqual(self.alive("alias"), [], "the mapping that is left is the memory's only one")

    def test_an_import_of_the_own_export(self):
        self.play(PROGRAM, "own_import")
        self.only("vmm", "CreateMemory", bytes=4 * MIB, missing_call="cuMemRelease",
                  handle_references=1, mappings=0)
        self.assertEqual(len(self.alive()), 1)

    def test_values_that_come_again(self):
        self.play(PROGRAM, "reuse")
        self.only("vmm", "CreateMemory", count=1, bytes=2 * MIB, missing_call="cuMemRelease")
        self.assertEqual(self.ask("summary")["ledgers"]["vmm"]["peak"], 2 * MIB)
        self.assert_trusted()


if __name__ == "__main__":
    unittest.main()

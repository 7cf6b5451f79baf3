# SPDX-License-Identifier: Apache-2.0
"""What the driver keeps memory for, what contexts end, and what is taken once."""
import unittest

from patterns import MIB, WORKLOADS, PatternTest

PROGRAM = WORKLOADS / "objects"


class ObjectsTest(PatternTest):
    def object(self, kind, function, **expected):
        found = [one for one in self.ask("leaks")["objects"] if one["kind"] == kind]
        self.assertEqual(len(found), 1, found)
        self.check(found[0], function, fate="alive", **expected)
        return found[0]

    def test_the_fixed_programs_leave_nothing(self):
        for scene in ("graph_cache", "modules", "library", "pool", "array", "mipmap", "pinned", "managed",
                      "stray_context", "context_end", "primary_reset"):
            with self.subTest(scene):
                self.play(PROGRAM, scene, "healthy", GPUSIM_DEVICES="2")
                self.assert_nothing()

    def test_graphs_that_a_cache_never_finds_again(self):
        self.play(PROGRAM, "graph_cache")
        self.object("graph_exec", "CaptureAndLaunch", count=12, missing_call="cuGraphExecDestroy",
                    launches=12, device=0)
        self.assertEqual(self.alive(), [], "no memory that the program allocated itself")
        self.assertEqual(self.ask("summary")["objects"]["graph_exec"]["current"], 12)
        self.assertIn("launched 12 times", self.text("leaks"))

    def test_modules(self):
        self.play(PROGRAM, "modules")
        found = self.object("module", "LoadKernels", count=36, missing_call="cuModuleUnload")
        self.assertGreater(found["bytes"], 0, "of the images")
        self.assertEqual(self.alive(), [])
        self.assertEqual(self.ask("summary")["objects"]["module"]["created"], 36)

    def test_a_library(self):
        self.play(PROGRAM, "library")
        self.object("module", "LoadLibrary", count=1, missing_call="cuLibraryUnload")

    def test_streams_and_events_if_asked_for(self):
        self.play(PROGRAM, "stream_and_event")
        self.assert_nothing()
        found = {one["kind"]: one["missing_call"]
                 for one in self.ask("leaks", "--kind", "stream,event")["verdicts"]}
        self.assertEqual(found, {"stream": "cuStreamDestroy", "event": "cuEventDestroy"})
        self.play(PROGRAM, "stream_and_event", "healthy")
        self.assertEqual(self.ask("leaks", "--kind", "stream,event")["verdicts"], [])

    def test_a_bounded_cache_shows_what_it_unloaded(self):
        self.play(PROGRAM, "bounded_cache")
        self.object("module", "LoadKernels", count=4, allocations=40, freed_by_call=36)
        self.assertEqual(self.ask("summary")["objects"]["module"]["peak"], 4)

    def test_a_pool(self):
        self.play(PROGRAM, "pool")
        self.object("pool", "MakePool", count=1, device=0, missing_call="cuMemPoolDestroy")

    def test_memory_of_other_kinds(self):
        for scene, kind, function, call, device in (
                ("array", "array", "Array", "cuArrayDestroy", 0),
                ("mipmap", "array", "Mipmap", "cuMipmappedArrayDestroy", 0),
                ("pinned", "pinned", "Pinned", "cuMemFreeHost", None),
                ("managed", "managed", "Managed", "cuMemFree", 0)):
            with self.subTest(scene):
                self.play(PROGRAM, scene)
                found = self.only(kind, function, count=1, missing_call=call, device=device,
                                  verdict="one_shot_survivor")
                self.assertGreaterEqual(found["bytes"], 16384)

    def test_a_context_where_nothing_is_allocated(self):
        self.play(PROGRAM, "stray_context", GPUSIM_DEVICES="2")
        self.object("context", "TouchDevice", count=1, device=0, nothing_allocated=True,
                    missing_call="cuDevicePrimaryCtxRelease")
        self.assertEqual(self.alive(), [])
        self.assertIn("nothing was ever allocated there", self.text("leaks"))

    def test_the_end_of_a_context(self):
        self.play(PROGRAM, "context_end")
        ended = [one for one in self.ask("leaks")["verdicts"] if one["fate"] != "alive"]
        self.assertEqual(len(ended), 1)
        self.check(ended[0], "AllocateInContext", fate="freed_by_context_destruction", bytes=3 * MIB,
                   kind="device", verdict="late_freed", freed_by_call=0)
        self.only("pool", "ContextEnd", bytes=MIB, missing_call="cuMemFreeAsync")

    def test_a_reset(self):
        self.play(PROGRAM, "primary_reset")
        found, = self.ask("leaks")["verdicts"]
        self.check(found, "AllocateInContext", fate="freed_by_context_destruction", bytes=3 * MIB)
        self.assertEqual(self.ask("summary")["leaks"]["context_ended"]["bytes"], 3 * MIB)

    def test_what_is_taken_once_is_no_leak(self):
        self.play(PROGRAM, "one_time")
        self.only("device", "OneTime", bytes=20 * MIB, count=1, verdict="one_shot_survivor",
                  behaviour="once")
        self.object("module", "LoadKernels", count=1, behaviour="once")


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""Memory that two processes see: one owns it, to the other it is an alias."""
import subprocess
import unittest

from patterns import MIB, WORKLOADS, PatternTest, traced

PROGRAM = WORKLOADS / "sharing"


class SharingTest(PatternTest):
    def share(self, *words):
        """Both traces, in one folder: the exporter frees after the importer has ended."""
        folder = self.path / "traces"
        folder.mkdir(exist_ok=True)
        for file in folder.iterdir():
            file.unlink()
        session = str(self.path / "session")
        exporter = subprocess.Popen(
            [PROGRAM, "export"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env=traced(folder / "a.gputrace", GPUSIM_SESSION=session))
        importer = subprocess.run(
            [PROGRAM, "import", *words], stdin=exporter.stdout, capture_output=True, timeout=120,
            env=traced(folder / "b.gputrace", GPUSIM_SESSION=session))
        exporter.stdin.close()
        exporter.stdout.close()
        self.assertEqual(exporter.wait(timeout=120), 0)
        self.assertEqual(importer.returncode, 0, importer.stderr)
        return folder

    def test_a_handle_that_was_closed_once_too_few(self):
        folder = self.share()
        leaks = self.ask("leaks", trace=folder)
        found, = leaks["verdicts"]
        self.check(found, "OpenShared", kind="alias", fate="alive", count=1, bytes=6 * MIB, device=0,
                   missing_call="cuIpcCloseMemHandle")
        origin = found["evidence"]["exported_by"]
        self.assertTrue(leaks["traces"][origin["trace"]]["path"].endswith("a.gputrace"))
        self.assert_in_stack("AllocateShared", origin["stack"])
        ledgers = self.ask("summary", trace=folder)["ledgers"]
        self.assertEqual(ledgers["device"]["peak"], 6 * MIB, "it is there only once")
        self.assertEqual(ledgers["device"]["current"], 0)

    def test_a_handle_that_was_closed(self):
        folder = self.share("healthy")
        self.assertEqual(self.ask("leaks", trace=folder)["verdicts"], [])
        self.assertEqual(self.ask("summary", trace=folder)["ledgers"]["alias"]["peak"], 6 * MIB)

    def test_external_memory_and_its_buffer(self):
        self.play(PROGRAM, "external", "healthy")
        self.assert_nothing()
        self.play(PROGRAM, "external")
        found = {verdict["missing_call"]: verdict for verdict in self.alive("alias")}
        self.assertEqual(set(found), {"cuDestroyExternalMemory", "cuMemFree"})
        self.check(found["cuDestroyExternalMemory"], "External", bytes=2 * MIB, count=1, device=0)
        self.check(found["cuMemFree"], "External", bytes=MIB, count=1, device=0)
        self.assertEqual(self.ask("summary")["ledgers"]["device"]["allocs"], 0, "it is no memory of ours")


if __name__ == "__main__":
    unittest.main()

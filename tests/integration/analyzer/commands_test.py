# SPDX-License-Identifier: Apache-2.0
"""What users type and what they get: text, exit codes, errors of one line."""
import os
import subprocess
import unittest

import traces


class CommandsTest(traces.TraceTest):
    def refused(self, *words, message):
        result = traces.gputrace(*words)
        self.assertEqual(result.returncode, 2, result)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertTrue(result.stderr.startswith("gputrace: "), result.stderr)
        self.assertIn(message, result.stderr)

    def test_wrong_usage(self):
        file = self.of("linear")
        self.refused(message="subcommand")
        self.refused("sumary", file, message="no command 'sumary'")
        self.refused("summary", message="TRACE")
        self.refused("summary", "--bogus", file, message="--bogus")
        self.refused("summary", "--top", "many", file, message="--top: 'many'")
        self.refused("summary", "--min-size", "big", file, message="--min-size")
        self.refused("summary", "--kind", "gpu", file, message="--kind: 'gpu'")
        self.refused("summary", "--by", "moon", file, message="--by: 'moon'")
        self.refused("summary", "--color", "red", file, message="--color")
        self.refused("summary", "--device", "7", file, message="--device: there is no device 7")
        self.refused("summary", "--max-memory", "-", file, message="--max-memory")
        self.refused("summary", "--sysroot", "/nonexistent", file, message="/nonexistent")
        self.refused("summary", "--debug-dir", "/nonexistent", file, message="/nonexistent")
        self.refused("live", "--at", "noon", file, message="--at: 'noon'")
        self.refused("timeline", "--points", "1", file, message="--points")

    def test_unreadable_input(self):
        self.refused("summary", self.path / "none", message="none: No such file or directory")
        empty = self.path / "empty.gputrace"
        empty.write_bytes(b"")
        self.refused("info", empty, message="empty.gputrace")
        self.refused("info", "/etc/passwd", message="/etc/passwd")
        folder = self.path / "folder"
        folder.mkdir(exist_ok=True)
        self.refused("info", folder, message="no traces")
        newer = self.path / "newer.gputrace"
        content = bytearray(self.of("linear").read_bytes())
        content[8:12] = (99).to_bytes(2, "little") * 2
        newer.write_bytes(content)
        self.refused("info", newer, message="newer.gputrace")

    def test_output_without_a_place_for_it_tells_of_damage_on_stderr(self):
        file = self.path / "half.gputrace"
        content = self.of("linear").read_bytes()
        file.write_bytes(content[:len(content) * 9 // 10])
        for words in (["dump"], ["dump", "--json"], ["timeline", "--csv"]):
            result = traces.gputrace(*words, file)
            self.assertEqual(result.returncode, 0)
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
            self.assertIn("this is not the whole truth", result.stderr)
            self.assertEqual(traces.gputrace(*words, "--strict", file).returncode, 3)
            self.assertEqual(traces.gputrace(*words, "--quiet", file).stderr, "")
            self.assertEqual(traces.gputrace(*words, self.of("linear")).stderr, "")

    def test_cut_at_any_length(self):
        content = self.of("linear").read_bytes()
        file = self.path / "cut.gputrace"
        for length in (*range(0, 300, 13), *range(300, len(content), 211)):
            file.write_bytes(content[:length])
            result = traces.gputrace("summary", "--no-symbols", "--strict", file)
            self.assertIn(result.returncode, (2, 3), (length, result))
            if result.returncode == 2:
                self.assertEqual(result.stderr.count("\n"), 1)

    def test_damage_is_said(self):
        content = bytearray(self.of("linear").read_bytes())
        middle = content.rindex(b"\xabGPTBLK\n", 0, len(content) * 3 // 4)
        content[middle + 100] ^= 0xff
        file = self.path / "damaged.gputrace"
        file.write_bytes(content)
        result = traces.gputrace("summary", file)
        self.assertEqual(result.returncode, 0)
        self.assertIn("not the whole truth", result.stdout)
        self.assertEqual(traces.gputrace("summary", "--strict", file).returncode, 3)

    def test_a_reader_that_closes_early_is_no_error(self):
        for words in (("dump", self.of("linear")), ("summary", "--json", self.of("linear"))):
            read, write = os.pipe()
            os.close(read)
            with os.fdopen(write) as out:
                result = subprocess.run([traces.GPUTRACE, *words], stdout=out, stderr=subprocess.PIPE,
                                        env=traces.clean_environment(), timeout=60, check=False)
            self.assertEqual((result.returncode, result.stderr), (0, b""))

    def test_a_full_disk_is_an_error(self):
        with open("/dev/full", "w") as full:
            result = subprocess.run([traces.GPUTRACE, "dump", self.of("linear")], stdout=full,
                                    stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        self.assertEqual(result.returncode, 2)
        self.assertIn("No space left", result.stderr)

    def test_help_and_version(self):
        self.assertRegex(self.read("--version"), r"^gputrace \d+\.\d+\.\d+\n$")
        for command in ("info", "summary", "live", "peak", "timeline", "leaks", "dump", "repair"):
            self.assertIn("--json", self.read(command, "--help"))

    def test_text(self):
        summary = self.read("summary", self.of("linear"))
        self.assertIn("families.cc:", summary)
        self.assertIn("5.07 MiB", summary)
        self.assertNotIn("\x1b", summary)
        self.assertIn("\x1b[", self.read("summary", "--color", "always", self.of("linear")))
        self.assertIn("GPU", self.read("info", self.of("linear")))
        self.assertIn("█", self.read("timeline", self.of("linear")))
        self.assertIn("freed only by the end of its context", self.read("leaks", self.of("contexts")))
        self.assertIn("cuMemAlloc_v2 size=", self.read("dump", self.of("linear")))
        self.assertIn("(families)", self.read("dump", "--native", self.of("linear")))

    def test_lists_can_be_cut(self):
        everything = self.json("peak", self.of("linear"))["entries"]
        self.assertEqual(self.json("peak", "--top", "1", self.of("linear"))["entries"], everything[:1])
        large = self.json("peak", "--min-size", "1MiB", self.of("linear"))
        self.assertEqual(len(large["entries"]), 1)
        self.assertLess(large["covered_bytes"], large["bytes"])
        self.assertIn("more", self.read("peak", "--top", "1", self.of("linear")))

    def test_devices_have_several_names(self):
        uuid = self.json("info", self.of("linear"))["devices"][0]["uuid"]
        host = self.json("info", self.of("linear"))["process"]["host"]
        for name in ("0", uuid, f"{host}:0"):
            self.assertGreater(self.json("peak", "--device", name, self.of("linear"))["bytes"], 0)

    def test_memory_can_be_limited(self):
        result = traces.gputrace("summary", "--max-memory", "1GiB", self.of("linear"))
        self.assertEqual(result.returncode, 0)

    def test_csv(self):
        lines = self.read("timeline", "--csv", self.of("pools")).splitlines()
        self.assertEqual(lines[0], "device,ledger,time_ns,bytes")
        self.assertTrue(any(line.startswith("0,pool_used,") for line in lines))


if __name__ == "__main__":
    unittest.main()

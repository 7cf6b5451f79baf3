# SPDX-License-Identifier: Apache-2.0
"""`gputrace run` as a user and a shell see it. Needs GPUTRACE_BUILD, the folder that was built into."""
import os
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = Path(os.environ["GPUTRACE_BUILD"])
GPUTRACE = BUILD / "bin/gputrace"
LIBRARY = BUILD / "lib/libgputrace.so"
SIMULATOR = BUILD / "lib/simulator"
CLIENT = HERE / "client.py"
GIB = 1 << 30


class RunTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="gputrace-run-")
        self.addCleanup(self.folder.cleanup)
        self.path = Path(self.folder.name)
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("GPUTRACE_", "GPUSIM_", "LD_"))
        }

    def run_traced(self, *words, program=GPUTRACE, **environment):
        return subprocess.run(
            [program, "run", *map(str, words)],
            cwd=self.path,
            env=self.environment | environment,
            capture_output=True,
            text=True,
            timeout=120,
        )

    def client(self, *options, code=0, **environment):
        words = [sys.executable, CLIENT] + ([code] if code else [])
        return self.run_traced(*options, "--", *words, **environment)

    def refused(self, *words, message, **environment):
        result = self.run_traced(*words, **environment)
        self.assertEqual(result.returncode, 2, result)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertIn(message, result.stderr)

    def traces(self, folder):
        return sorted(path.name for path in (self.path / folder).glob("*.gputrace"))


class Traces(RunTest):
    def test_one_folder_and_the_next_command(self):
        result = self.client("-o", "traces", "--simulate", "80GiB")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout, f"1 {80 * GIB}\n")
        self.assertEqual(len(self.traces("traces")), 1)
        lines = result.stderr.splitlines()
        self.assertRegex(lines[0], r"^gputrace: 1 trace \([0-9.]+ KiB\) in traces$")
        self.assertEqual(lines[1], f"gputrace: next: {GPUTRACE} summary traces")
        self.assertEqual(len(lines), 2)

    def test_a_new_folder_of_its_own(self):
        for _ in range(2):
            self.assertEqual(self.client("--simulate", "16GiB").returncode, 0)
        folders = [path.name for path in self.path.iterdir()]
        self.assertEqual(len(folders), 2)
        for folder in folders:
            self.assertRegex(folder, r"^gputrace\.python[0-9.]*\.\d{8}-\d{6}(\.\d+)?$")
            self.assertEqual(len(self.traces(folder)), 1)

    def test_all_processes_in_one_folder(self):
        script = f"{sys.executable} {CLIENT} & {sys.executable} {CLIENT} & wait"
        result = self.run_traced("-o", "traces", "--simulate", "16GiB", "--", "sh", "-c", script)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(self.traces("traces")), 2)
        self.assertIn("2 traces (", result.stderr)

    def test_a_folder_with_older_traces(self):
        self.client("-o", "traces", "--simulate", "16GiB")
        result = self.client("-o", "traces", "--simulate", "16GiB")
        self.assertIn("1 trace (", result.stderr)
        self.assertIn(" in traces, beside 1 older\n", result.stderr)

    def test_a_working_directory_that_changes(self):
        code = f"import os, runpy; os.chdir('/'); runpy.run_path({str(CLIENT)!r})"
        result = self.run_traced(
            "-o", "my traces", "--simulate", "16GiB", "--", sys.executable, "-c", code)
        self.assertEqual(len(self.traces("my traces")), 1, result.stderr)
        self.assertTrue(result.stderr.endswith(" summary 'my traces'\n"), result.stderr)

    def test_quiet(self):
        result = self.client("-q", "-o", "traces", "--simulate", "16GiB")
        self.assertEqual(result.stderr, "")
        self.assertEqual(len(self.traces("traces")), 1)

    def test_trouble_of_the_tracer_is_passed_on(self):
        code = f"import os, runpy, shutil; shutil.rmtree('traces'); runpy.run_path({str(CLIENT)!r})"
        result = self.run_traced(
            "-o", "traces", "--simulate", "16GiB", "--log", "log.txt", "--", sys.executable, "-c", code)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("cannot create the trace", (self.path / "log.txt").read_text())
        self.assertIn("no trace was written", result.stderr)


class NoTrace(RunTest):
    def test_a_program_without_cuda(self):
        result = self.run_traced("--", "echo", "hello")
        self.assertEqual(result.returncode, 0)
        self.assertEqual(result.stdout, "hello\n")
        self.assertRegex(result.stderr, r"^gputrace: no trace was written: echo made no CUDA call, or")
        self.assertEqual(list(self.path.iterdir()), [])

    def test_a_static_program(self):
        (self.path / "main.c").write_text("int main(void) { return 3; }\n")
        subprocess.run(["cc", "-static", "-o", "program", "main.c"], cwd=self.path, check=True)
        result = self.run_traced("--", "./program")
        self.assertEqual(result.returncode, 3)
        self.assertIn("./program is statically linked", result.stderr)

    def test_a_setuid_program(self):
        shutil.copy("/bin/true", self.path / "program")
        (self.path / "program").chmod(0o4755)
        self.assertIn("is setuid", self.run_traced("--", "./program").stderr)

    def test_switched_off(self):
        result = self.client("--simulate", "16GiB", GPUTRACE_DISABLE="1")
        self.assertEqual(result.returncode, 0)
        self.assertIn("no trace was written: GPUTRACE_DISABLE=1 is set", result.stderr)

    def test_a_library_that_is_none(self):
        fake = self.path / "fake.so"
        fake.write_bytes(b"\x7fELF, and no more")
        result = self.run_traced("--", "/bin/true", GPUTRACE_LIBRARY=str(fake))
        self.assertEqual(result.returncode, 0)
        self.assertIn("cannot be preloaded", result.stderr)
        self.assertIn("no trace was written", result.stderr)


class Environment(RunTest):
    def test_existing_preloads_stay(self):
        result = self.run_traced("--", "sh", "-c", "echo $LD_PRELOAD", LD_PRELOAD="/usr/lib/x86_64-linux-gnu/libz.so.1")
        self.assertEqual(result.stdout, f"{LIBRARY}:/usr/lib/x86_64-linux-gnu/libz.so.1\n")

    def test_options_reach_the_tracer(self):
        script = "env | grep -E '^GPU(TRACE|SIM)_' | grep -vE '_(OUT|LOG)=' | sort"
        result = self.run_traced(
            "--depth", "40", "--max-size", "1.5GiB", "--free-stacks=off", "--simulate", "2x1GiB", "--",
            "sh", "-c", script, GPUTRACE_RING="2 MiB", GPUTRACE_DEPTH="7")
        self.assertEqual(
            result.stdout.splitlines(),
            ["GPUSIM_DEVICES=2", f"GPUSIM_MEMORY={GIB},{GIB}", "GPUTRACE_DEPTH=40",
             "GPUTRACE_FREE_STACKS=off", "GPUTRACE_MAX_SIZE=1610612736", "GPUTRACE_RING=2097152"])

    def test_cards_of_the_simulator(self):
        self.assertEqual(self.client("--simulate", "3x24GiB").stdout, f"3 {24 * GIB}\n")

    def test_a_driver_of_an_older_version(self):
        result = self.run_traced("--simulate", "1GiB", "--", "sh", "-c", "echo $LD_LIBRARY_PATH",
                                 GPUSIM_VERSION="12.2")
        self.assertEqual(result.stdout, f"{SIMULATOR}/12.2\n")
        self.assertEqual(self.client("--simulate", "1GiB", GPUSIM_VERSION="12.2").stdout, f"1 {GIB}\n")

    def test_the_users_library_path_stays(self):
        result = self.run_traced("--simulate", "1GiB", "--", "sh", "-c", "echo $LD_LIBRARY_PATH",
                                 LD_LIBRARY_PATH="/opt/lib")
        self.assertEqual(result.stdout, f"{SIMULATOR}:/opt/lib\n")

    def test_works_from_where_it_is_copied_to(self):
        shutil.copytree(BUILD / "bin", self.path / "opt/bin", ignore=lambda _, names: set(names) - {"gputrace"})
        shutil.copytree(BUILD / "lib", self.path / "opt/lib", symlinks=True)
        result = self.run_traced("-o", "traces", "--simulate", "16GiB", "--", sys.executable, CLIENT,
                                 program=self.path / "opt/bin/gputrace")
        self.assertEqual(len(self.traces("traces")), 1, result.stderr)

    def test_nothing_is_left_open_for_the_command(self):
        code = "import os; print(len([fd for fd in map(int, os.listdir('/proc/self/fd')) if fd > 2]))"
        plain = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        self.assertEqual(self.run_traced("--", sys.executable, "-c", code).stdout, plain.stdout)


class Usage(RunTest):
    def test_help(self):
        result = self.run_traced("--help")
        self.assertEqual(result.returncode, 0)
        self.assertIn("usage: gputrace run [options] -- CMD", result.stdout)
        self.assertEqual(result.stderr, "")

    def test_refused_before_anything_runs(self):
        touch = ["--", "touch", "started"]
        self.refused("--stacks", "all", *touch, message="--stacks all: must be off or native")
        self.refused("--simulate", "lots", *touch, message="--simulate: 'lots' is not a size")
        self.refused("--nonsense", *touch, message="there is no option --nonsense")
        self.refused("--check", *touch, message="gputrace check")
        self.refused(message="which command?")
        self.refused(*touch, GPUTRACE_DEPTH="deep", message="GPUTRACE_DEPTH=deep: must be a number of frames")
        self.refused(*touch, GPUTRACE_START="later", message="GPUTRACE_START=later: must be on")
        self.refused(*touch, GPUTRACE_START="paused", message="no way to start recording later")
        self.refused("--log", "/no/file", *touch, message="--log /no/file: cannot be written")
        self.refused(*touch, GPUTRACE_LIBRARY="/etc/passwd", message="/etc/passwd is no shared library")
        self.refused(*touch, GPUTRACE_LIBRARY="/tmp", message="/tmp is no shared library")
        self.refused(*touch, GPUTRACE_LIBRARY="/no/lib.so", message="/no/lib.so: No such file or directory")
        self.assertFalse((self.path / "started").exists())

    def test_a_folder_that_cannot_be(self):
        (self.path / "file").write_text("x")
        self.refused("-o", "file", "--", "true", message="file")
        self.refused("-o", "/proc/x", "--", "true", message="/proc/x")

    def test_a_library_path_that_the_loader_cannot_take(self):
        library = self.path / "with space.so"
        shutil.copy(LIBRARY, library)
        self.refused("--", "true", GPUTRACE_LIBRARY=str(library), message="with a space or a colon")

    def test_names_are_shown_safely(self):
        self.refused("--x\x1b[31m", "--", "true", message="--x\\x1b[31m")

    def test_a_misspelt_variable(self):
        result = self.run_traced("--", "true", GPUTRACE_DEPHT="3")
        self.assertIn("warning: GPUTRACE_DEPHT means nothing", result.stderr)
        self.assertEqual(result.returncode, 0)


class ExitCodes(RunTest):
    def test_the_commands_own(self):
        for code in (0, 1, 2, 3, 77, 255):
            self.assertEqual(self.run_traced("--", "sh", "-c", f"exit {code}").returncode, code)
        self.assertEqual(self.client("--simulate", "16GiB", code=5).returncode, 5)

    def test_the_commands_signal(self):
        for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGINT, signal.SIGSEGV, signal.SIGABRT,
                       signal.SIGPIPE, signal.SIGRTMIN):
            result = self.run_traced("--", "sh", "-c", f"kill -{int(number)} $$")
            self.assertEqual(result.returncode, -number)

    def test_no_core_of_our_own(self):
        resource_limit = resource.getrlimit(resource.RLIMIT_CORE)
        self.run_traced("--", "sh", "-c", f"ulimit -c 0; kill -{int(signal.SIGSEGV)} $$")
        self.assertEqual([p for p in self.path.iterdir() if "core" in p.name], [])
        self.assertEqual(resource.getrlimit(resource.RLIMIT_CORE), resource_limit)

    def test_commands_that_cannot_be_run(self):
        script = self.path / "script"
        script.write_text("#!/no/such/interpreter\n")
        for word, code, message in (
            ("no-such-command", 127, "cannot run no-such-command: command not found"),
            ("./no-such-command", 127, "cannot run ./no-such-command: command not found"),
            ("/etc/passwd", 126, "cannot run /etc/passwd: Permission denied"),
            ("/", 126, "cannot run /: Permission denied"),
            ("./script", 126, "cannot run ./script: its interpreter does not exist"),
        ):
            script.chmod(stat.S_IRWXU)
            result = self.run_traced("--", word)
            self.assertEqual(result.returncode, code, word)
            self.assertEqual(result.stderr, f"gputrace: {message}\n")
            self.assertEqual([p.name for p in self.path.iterdir()], ["script"])


if __name__ == "__main__":
    unittest.main()

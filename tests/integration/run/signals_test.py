# SPDX-License-Identifier: Apache-2.0
"""Signals and job control through `gputrace run`, on a terminal of the test's own."""
import os
import pty
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

GPUTRACE = Path(os.environ["GPUTRACE_BUILD"]) / "bin/gputrace"

# Counts each signal that it gets; ends at SIGTERM and prints what it got.
COUNTER = """
import collections, os, signal, sys
counts = collections.Counter()
def count(number, frame):
    counts[signal.Signals(number).name] += 1
    if number == signal.SIGTERM:
        print(*(f"{name}={n}" for name, n in sorted(counts.items())), flush=True)
        os._exit(9)
    print("got", flush=True)
for name in "HUP INT QUIT TERM USR1 USR2 WINCH ALRM".split():
    signal.signal(getattr(signal, "SIG" + name), count)
print("ready", os.getpid(), flush=True)
while True:
    signal.pause()
"""


class Forwarding(unittest.TestCase):
    def start(self, code, **options):
        process = subprocess.Popen(
            [GPUTRACE, "run", "-q", "-o", "/tmp", "--", sys.executable, "-c", code],
            stdout=subprocess.PIPE, text=True, **options)
        self.addCleanup(process.stdout.close)
        return process

    def test_each_signal_arrives_once(self):
        process = self.start(COUNTER)
        self.assertTrue(process.stdout.readline().startswith("ready"))
        names = ["HUP", "INT", "QUIT", "USR1", "USR2", "WINCH", "ALRM"]
        for name in names:
            process.send_signal(getattr(signal, "SIG" + name))
            self.assertEqual(process.stdout.readline(), "got\n")
        process.terminate()
        self.assertEqual(process.stdout.readline().split(), sorted(f"SIG{n}=1" for n in names + ["TERM"]))
        self.assertEqual(process.wait(), 9)

    def test_what_was_ignored_stays_ignored(self):
        code = ("import signal; print(signal.getsignal(signal.SIGHUP) == signal.SIG_IGN,"
                " signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN)")

        def ignore():
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)

        process = self.start(code, preexec_fn=ignore)
        self.assertEqual(process.stdout.read(), "True True\n")
        self.assertEqual(process.wait(), 0)

    def test_the_mask_stays(self):
        code = "import signal; print(sorted(int(s) for s in signal.pthread_sigmask(signal.SIG_BLOCK, [])))"

        def block():
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])

        process = self.start(code, preexec_fn=block)
        self.assertEqual(process.stdout.read(), f"[{int(signal.SIGUSR1)}]\n")
        process.wait()

    def test_what_the_command_sends_its_parent_does_not_come_back(self):
        code = "import os, signal, time; os.kill(os.getppid(), signal.SIGTERM); time.sleep(0.3); print('lives')"
        process = self.start(code)
        self.assertEqual(process.stdout.read(), "lives\n")
        self.assertEqual(process.wait(), 0)


class OnATerminal(unittest.TestCase):
    """A shell's part is played by a child that leads a session on a pseudo-terminal."""

    def shell(self, play):
        pid, master = pty.fork()
        if pid == 0:
            try:
                play()
                os.write(1, b"PLAYED\n")
            except BaseException as error:  # told to the test by its text
                os.write(1, f"FAILED {error!r}\n".encode())
            os._exit(0)
        text = b""
        while True:
            try:
                piece = os.read(master, 4096)
            except OSError:
                break
            if not piece:
                break
            text += piece
        os.waitpid(pid, 0)
        os.close(master)
        self.assertIn(b"PLAYED", text, text.decode())

    def test_control_c_arrives_once(self):
        pid, master = pty.fork()
        if pid == 0:
            os.execv(GPUTRACE, [GPUTRACE, "run", "-q", "-o", "/tmp", "--", sys.executable, "-c", COUNTER])
        with os.fdopen(master, "r+b", buffering=0) as terminal:
            lines = iter(terminal.readline, b"")
            while not next(lines).startswith(b"ready"):
                pass
            terminal.write(b"\x03")
            while b"got" not in next(lines):
                pass
            time.sleep(0.2)
            os.kill(pid, signal.SIGTERM)
            line = next(line for line in lines if b"TERM" in line)
        self.assertEqual(line.split(), [b"SIGINT=1", b"SIGTERM=1"])
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 9)

    def test_control_z_stops_both_and_fg_continues(self):
        def play():
            signal.signal(signal.SIGTTOU, signal.SIG_IGN)
            reader, writer = os.pipe()
            job = os.fork()
            if job == 0:
                os.setpgid(0, 0)
                os.tcsetpgrp(0, os.getpid())
                signal.signal(signal.SIGTTOU, signal.SIG_DFL)
                os.dup2(writer, 1)
                code = "import os, time; print(os.getpid(), flush=True); time.sleep(1); print('end', flush=True)"
                os.execv(GPUTRACE, [GPUTRACE, "run", "-q", "-o", "/tmp", "--", sys.executable, "-c", code])
            os.close(writer)
            output = os.fdopen(reader)
            command = int(output.readline())
            os.killpg(job, signal.SIGTSTP)  # as the terminal does at Ctrl-Z, to the whole group
            _, status = os.waitpid(job, os.WUNTRACED)
            assert os.WIFSTOPPED(status), status
            state = Path(f"/proc/{command}/stat").read_text().rpartition(")")[2].split()[0]
            assert state == "T", state
            os.killpg(job, signal.SIGCONT)
            assert output.readline() == "end\n"
            _, status = os.waitpid(job, 0)
            assert os.waitstatus_to_exitcode(status) == 0, status

        self.shell(play)

    def test_a_command_that_stops_itself_stops_the_job(self):
        def play():
            signal.signal(signal.SIGTTOU, signal.SIG_IGN)
            job = os.fork()
            if job == 0:
                os.setpgid(0, 0)
                os.execv(GPUTRACE, [GPUTRACE, "run", "-q", "-o", "/tmp", "--", "sh", "-c",
                                    "kill -TSTP $$; exit 4"])
            _, status = os.waitpid(job, os.WUNTRACED)
            assert os.WIFSTOPPED(status) and os.WSTOPSIG(status) == signal.SIGTSTP, status
            os.killpg(job, signal.SIGCONT)
            _, status = os.waitpid(job, 0)
            assert os.waitstatus_to_exitcode(status) == 4, status

        self.shell(play)


if __name__ == "__main__":
    unittest.main()

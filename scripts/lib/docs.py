# SPDX-License-Identifier: Apache-2.0
"""Puts the output of real commands into the pages: see scripts/docs --help."""
import argparse
import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(
    r"^<!-- hidden: (?P<hidden>.*?) -->\n"
    r"|^<!-- run: (?P<shown>.*?) -->\n(?:(?!<!-- ).*\n)*<!-- end -->\n", re.MULTILINE)
WIDTH = 100


class Shell:
    """Where the commands of one page run."""

    def __init__(self, folder, build, python):
        self.folder = folder
        self.replacements = [(f"{folder}/", ""), (str(folder), "."), (f"{ROOT}/", ""),
                             (f"{build}/", "build/release/")]
        tools = folder / ".bin"
        tools.mkdir()
        # Links, so that `gputrace` finds its library by its own file; and short names, since what is long
        # is cut on the pages.
        (tools / "gputrace").symlink_to(build / "bin/gputrace")
        (folder / "venv").symlink_to(python.parent.parent)
        for name in ("python", "python3"):
            (tools / name).write_text('#!/bin/sh\nexec venv/bin/python "$@"\n')
            (tools / name).chmod(0o755)
        shutil.copytree(ROOT / "examples", folder / "examples")
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith(("GPUTRACE_", "GPUSIM_", "LD_", "PYTHON"))}
        self.environment = kept | {"PATH": f"{tools}:{os.environ['PATH']}", "COLUMNS": str(WIDTH),
                                   "NO_COLOR": "1", "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1",
                                   "TZ": "UTC"}

    def run(self, command):
        result = subprocess.run(["bash", "-c", command], cwd=self.folder, env=self.environment,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300, check=False)
        text = result.stdout.decode("utf-8", "replace")
        if result.returncode != 0:
            raise SystemExit(f"docs: `{command}` answered {result.returncode}:\n{text}")
        for real, shown in self.replacements:
            text = text.replace(real, shown)
        return "\n".join(line.rstrip() for line in text.splitlines())


def normalize(text):
    """What must be the same on every machine and in every run: the words, and where numbers stand."""
    text = re.sub(r"│.*", "│", text)  # the inside of a chart
    text = re.sub(r"0x[0-9a-f]+|\b[0-9a-f]{16,}\b|\bv1:[0-9a-f]+", "N", text)
    text = re.sub(r"[+-]?[0-9][0-9.,:]*", "N", text)
    text = re.sub(r"\bN (?:B|KiB|MiB|GiB|TiB|ns|µs|ms|s|min|h)\b", "N", text)
    text = re.sub(r" took N$", "", text, flags=re.MULTILINE)  # shown where a call was slow
    text = re.sub(r"(\(pid N on )[^)]+", r"\1H", text)
    return [re.sub(r"[ ─-]+", " ", line).strip() for line in text.splitlines()]


def render(page, shell):
    """The page's text with fresh output in its blocks."""
    blocks = []

    def replace(match):
        if match["hidden"]:
            shell.run(match["hidden"])
            return match[0]
        command = match["shown"]
        blocks.append(command)
        output = shell.run(command)
        return f"<!-- run: {command} -->\n```console\n$ {command}\n{output}\n```\n<!-- end -->\n"

    old = page.read_text(encoding="utf-8")
    text = BLOCK.sub(replace, old)
    if len(blocks) != old.count("\n<!-- run: "):
        raise SystemExit(f"docs: {page}: a block has no <!-- end -->")
    return text, blocks


def main():
    parser = argparse.ArgumentParser(prog="scripts/docs")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--python", type=Path, required=True)
    options = parser.parse_args()
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    stale = False
    for page in pages:
        old = page.read_text(encoding="utf-8")
        if "<!-- run: " not in old:
            continue
        with tempfile.TemporaryDirectory(prefix="gputrace-docs-") as folder:
            new, blocks = render(page, Shell(Path(folder).resolve(), options.build.resolve(), options.python))
        name = page.relative_to(ROOT)
        if options.check:
            changes = list(difflib.unified_diff(normalize(old), normalize(new), f"{name} (as it is)",
                                                f"{name} (as it should be)", lineterm="", n=1))
            if changes:
                stale = True
                print("\n".join(changes), file=sys.stderr)
            else:
                print(f"{name}: {len(blocks)} blocks are as they should be")
        elif normalize(old) != normalize(new) or "```console" not in old:
            page.write_text(new, encoding="utf-8")
            print(f"{name}: {len(blocks)} blocks written")
        else:
            print(f"{name}: nothing has changed but numbers")
    if stale:
        raise SystemExit("docs: pages are stale: run scripts/docs")


if __name__ == "__main__":
    main()

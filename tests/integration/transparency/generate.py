#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the driver that echoes, and the list of entries that its client calls.

usage: generate.py OUT_DIR
  echo_driver.cc   a libcuda.so.1 in which each wrapped entry only notes how it was called
  entries.inc      ENTRY(symbol, small) for each; bit i of `small` is set if parameter i counts something
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "driver_api"))
import table  # noqa: E402

COUNTS = re.compile(r"count|num|depth|size_t$", re.IGNORECASE)


def declaration(row):
    return f"CUresult {row.symbol}({', '.join(f'{kind} {name}' for kind, name in row.params)})"


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    rows = table.traced(table.load())
    driver = ['#include "tests/integration/transparency/echo.h"', "namespace gputrace {", 'extern "C" {']
    entries = []
    for number, row in enumerate(rows):
        names = "".join(f", {name}" for _, name in row.params)
        driver.append(f"ECHO_EXPORT {declaration(row)} {{ return Echo({number}{names}); }}")
        small = sum(1 << i for i, (_, name) in enumerate(row.params) if COUNTS.search(name))
        entries.append(f"ENTRY({row.symbol}, {small})")
    driver += ["}", "}  // namespace gputrace", ""]
    (out / "echo_driver.cc").write_text("\n".join(driver))
    (out / "entries.inc").write_text("\n".join(entries) + "\n")
    declarations = [f"{declaration(row)};" for row in rows]
    (out / "declarations.inc").write_text("\n".join(declarations) + "\n")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the driver table with CUDA's headers: a line per entry that they know differently.

usage: check_headers.py [--entries FILE] [--semantics FILE] VERSION=INCLUDE_DIR…

Exits with 1 if there is a difference. Run it with the Python that scripts/bootstrap makes.
"""
import argparse
import pathlib
import re
import sys

DRIVER_API = pathlib.Path(__file__).resolve().parents[2] / "driver_api"
sys.path.insert(0, str(DRIVER_API))
import table  # noqa: E402


def release(version):
    return f"CUDA {version // 1000}.{version % 1000 // 10}"


def spelled(types):
    return f"({', '.join(types)})"


def resolve(kind, aliases):
    """The type without aliases: an older version may spell X what a newer one spells X_v1."""
    words = re.split(r"(\w+)", kind)
    for i, word in enumerate(words):
        for _ in aliases:
            if not re.fullmatch(r"[A-Za-z_]\w*", aliases.get(word, "")):
                break
            word = aliases[word]
        words[i] = word
    return "".join(words)


def compare(rows, version, declared, aliases):
    """Differences between the table's rows and one version of the headers, as lines.

    declared: {symbol: (header, [(type, name)], since)} and aliases: {alias: type} are what
    derive.read_version returns.
    """
    lines = []
    known = {row.symbol: row for row in rows}
    for symbol, (header, params, since) in sorted(declared.items()):
        where = f"{release(version)}: {symbol}"
        row = known.get(symbol)
        if row is None:
            lines.append(f"{where} is not in the table")
            continue
        if not row.first <= version <= row.last:
            lines.append(
                f"{where} is there, but the table says {release(row.first)} to "
                f"{release(row.last)}"
            )
        if row.header != header:
            lines.append(f"{where} is declared in {header}, in the table in {row.header}")
        if row.since != since:
            lines.append(f"{where} has version {since}, in the table {row.since}")
        types, expected = [kind for kind, _ in params], [kind for kind, _ in row.params]
        if [resolve(t, aliases) for t in types] != [resolve(t, aliases) for t in expected]:
            lines.append(f"{where} takes {spelled(types)}, in the table {spelled(expected)}")
    for row in rows:
        if row.first <= version <= row.last and row.symbol not in declared:
            lines.append(
                f"{release(version)}: {row.symbol} is in the table, but not in the headers"
            )
    return lines


def check_names(names, version, stands_for):
    """Differences between names.tsv and one version's macros, {name: symbol}, as lines."""
    lines = []
    known = {(name, symbol): since for name, since, symbol in names}
    for name, symbol in sorted(stands_for.items()):
        if known.get((name, symbol), version + 1) > version:
            lines.append(
                f"{release(version)}: {name} stands for {symbol}, which names.tsv does not say"
            )
    for (name, symbol), since in known.items():
        if since <= version and stands_for.get(name) != symbol:
            lines.append(
                f"{release(version)}: {name} does not stand for {symbol}, as names.tsv says"
            )
    return lines


def main():
    import derive  # here: what is above can be tested without libclang

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--entries", type=pathlib.Path, default=DRIVER_API / "entries.tsv")
    parser.add_argument("--semantics", type=pathlib.Path, default=DRIVER_API / "semantics.toml")
    parser.add_argument("headers", nargs="+", metavar="VERSION=INCLUDE_DIR")
    arguments = parser.parse_args()
    try:
        rows = table.load(arguments.entries, arguments.semantics)
        names = table.load_names(rows)
    except table.TableError as error:
        sys.exit(f"{error}")
    lines = []
    for item in arguments.headers:
        version, include_dir = item.split("=", 1)
        declared, stands_for, aliases = derive.read_version(include_dir)
        lines += compare(rows, int(version), declared, aliases)
        lines += check_names(names, int(version), stands_for)
    for line in lines:
        print(line)
    print(
        f"{len(rows)} rows, {len(arguments.headers)} versions of the headers, "
        f"{len(lines)} differences",
        file=sys.stderr,
    )
    sys.exit(1 if lines else 0)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the stand-in driver's exports: every entry of the table, by name and signature only.

usage: generate_simulator.py SOURCE_DIR OUT_DIR
  exports.cc   an exported function per entry and the table for cuGetProcAddress
  exports.map  the version script
A function Sim_NAME in SOURCE_DIR is the body of the symbol NAME and of its per-thread twins. Entries
without one succeed if they only set something, and are not supported if they would have to answer.
"""
import pathlib
import re
import sys

import table

HEADER = "// Generated from driver_api/ by generate_simulator.py; not to be edited.\n"
# Entries of window systems' headers: exported without their types.
TYPED_HEADERS = ("cuda.h",)


def bodies(source_dir):
    found = set()
    for path in pathlib.Path(source_dir).glob("*.cc"):
        found |= set(re.findall(r"^CUresult Sim_(cu\w+)\(", path.read_text(), re.M))
    return found


def declare(params):
    return ", ".join(kind.replace("(*)", f"(*{name})") if "(*)" in kind else f"{kind} {name}"
                     for kind, name in params)


def answers(row):
    """Whether the caller expects something in memory of its own."""
    return any("*" in kind and not kind.startswith("const ") for kind, _ in row.params)


def entry(number, row, implemented):
    typed = row.header in TYPED_HEADERS
    parameters = declare(row.params) if typed else ""
    names = ", ".join(name for _, name in row.params) if typed else ""
    if row.key in implemented:
        result = f"Sim_{row.key}({names})"
    else:
        result = "CUDA_ERROR_NOT_SUPPORTED" if answers(row) or not typed else "CUDA_SUCCESS"
    unused = "" if row.key in implemented or not names else \
        "  " + " ".join(f"(void){name};" for _, name in row.params) + "\n"
    return (f"static CUresult Enter{number}({parameters}) {{\n  int failure = 0;\n"
            f"  if (Enter({number}, &failure)) return static_cast<CUresult>(failure);\n{unused}"
            f"  return {result};\n}}\n"
            f'extern "C" EXPORT CUresult {row.symbol}({parameters}) {{ return Enter{number}({names}); }}\n'
            f"static CUresult Alternate{number}({parameters}) {{ return Enter{number}({names}); }}\n")


def main():
    source_dir, out = sys.argv[1], pathlib.Path(sys.argv[2])
    rows = sorted(table.load_entries(), key=lambda r: (r.base, r.since, r.symbol))
    implemented = bodies(source_dir)
    unknown = implemented - {row.key for row in rows}
    if unknown:
        sys.exit(f"{source_dir}: no entry of the driver is called {', '.join(sorted(unknown))}")
    out.mkdir(parents=True, exist_ok=True)
    text = [HEADER, "#define __CUDA_API_VERSION_INTERNAL\n#include <cuda.h>\n",
            '#include "simulator/driver/exports.h"\n',
            '#define EXPORT __attribute__((visibility("default")))\n', "namespace gputrace::sim {\n"]
    by_key = {row.key: row for row in rows if not row.stream_kind}
    for name in sorted(implemented):
        text.append(f"CUresult Sim_{name}({declare(by_key[name].params)});")
    for number, row in enumerate(rows):
        text.append(entry(number, row, implemented))
    text.append("const ExportedEntry kExports[] = {")
    for number, row in enumerate(rows):
        text.append(f'    {{"{row.symbol}", "{row.base}", {row.since}, '
                    f"{'true' if row.stream_kind else 'false'}, "
                    f"{'true' if row.key in implemented else 'false'}, "
                    f"reinterpret_cast<void*>({row.symbol}), reinterpret_cast<void*>(Alternate{number})}},")
    text += ["};", "const Alias kAliases[] = {"]
    numbers = {row.symbol: number for number, row in enumerate(rows)}
    for name, since, symbol in table.load_names(rows):
        text.append(f'    {{"{name}", {since}, {numbers[symbol]}}},')
    text.append("    {nullptr, 0, 0},")
    text += ["};", f"const uint32_t kExportCount = {len(rows)};",
             f"std::atomic<uint64_t> g_calls[{len(rows)}];", "}  // namespace gputrace::sim\n"]
    (out / "exports.cc").write_text("\n".join(text))
    names = "".join(f"    {row.symbol};\n" for row in sorted(rows, key=lambda r: r.symbol))
    (out / "exports.map").write_text("{\n  global:\n" + names + "  local:\n    *;\n};\n")


if __name__ == "__main__":
    main()

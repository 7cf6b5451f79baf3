#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/coverage.md: what gputrace does with each entry of the driver.

usage: coverage.py [--check]     with --check, fails if the committed page is not up to date
"""
import pathlib
import re
import sys

import table

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs" / "coverage.md"

# The first pattern that the base name matches from its start decides.
FAMILIES = (
    ("Start, versions and resolution", r"cuInit|cuDriver|cuGetProc|cuGetError|cuGetExport"),
    ("Graphics interop", r"cuGL|cuEGL|cuVDPAU|cuGraphics|cuEventCreateFromEGL"),
    (
        "Stream-ordered memory and pools",
        r"cuMemPool|cuMem(Alloc(FromPool)?|Free)Async|cu(Device|Mem)[GS]et(Default)?MemPool",
    ),
    (
        "Virtual memory management",
        r"cuMem(Create|Release|RetainAlloc|Export|Import|AddressRes|AddressFree|Map|Unmap|"
        r"[GS]etAccess|GetAllocation|GetHandleFor)",
    ),
    ("Multicast and logical endpoints", r"cuMulticast|cuLogicalEndpoint"),
    ("Pinned and registered host memory", r"cuMem(Host|AllocHost|FreeHost)"),
    ("Managed memory", r"cuMem(AllocManaged|Prefetch|Advise|Discard|RangeGet)|cuStreamAttachMem"),
    ("Linear device memory", r"cuMem(Alloc|Free|GetInfo|GetAddressRange|GetLocation)"),
    ("Arrays, textures and surfaces", r"cuArray|cuMipmapped|cuTex|cuSurf|cuTensorMap"),
    (
        "Interprocess and external memory",
        r"cuIpc|cuImportExternal|cuDestroyExternal|cuExternal|" r"cu(Signal|Wait)External",
    ),
    ("Graphs", r"cuGraph|cuDevice(Graph|GetGraph|SetGraph)|cuUserObject"),
    ("Stream capture", r"cuStream(Begin|End|IsCapt|GetCapt|UpdateCapt)|cuThreadExchange"),
    ("Contexts and limits", r"cuCtx|cuDevicePrimaryCtx|cuGreenCtx|cuDevResource|cuDevSm"),
    ("Modules, libraries and linking", r"cuModule|cuLibrary|cuLink|cuFunc|cuKernel"),
    ("Streams, events and synchronisation", r"cuStream|cuEvent|cuFlush"),
    ("Devices", r"cuDevice|cuPointer"),
    ("Copies and fills", r"cuMemcpy|cuMemset|cuFabricCpy|cuMemBatch"),
    ("Launches", r"cuLaunch|cuParam|cuOccupancy"),
    ("Tools", r"cuCheckpoint|cuCoredump|cuLogs|cuProfiler"),
)

HEAD = """\
# What gputrace does with each entry of the CUDA driver

This page is made from `driver_api/` by `driver_api/coverage.py`.

The table knows {rows} entries of the driver, checked against the headers of {versions}.
{record} are **recorded**, with their call stack: they change GPU memory, or what it belongs to.
{observe} are **observed**, without a stack: they tell what the accounting needs (current contexts,
synchronisation, residency hints). The tracer wraps the {resolvers} **resolvers** to see what
programs ask for. The other {other} are **passed** through: no code of the tracer runs.

- *Since* is the version from which `cuGetProcAddress` answers with the symbol; — if it has none.
- `_ptds` and `_ptsz` are the twins for per-thread default streams.
- *Effects* say what a call does to what; *or* separates what one call may be applied to.
- *Collected*: the operands a record holds, those that the driver answers with in *italics*. Where
  something of a call is not collected yet, it is named.
"""


def family_of(row):
    for title, pattern in FAMILIES:
        if re.match(pattern, row.base):
            return title
    raise table.TableError(f"{row.symbol} belongs to no family of coverage.py")


def release(number):
    """11020 -> 11.2"""
    return f"{number // 1000}.{number % 1000 // 10}" if number else "—"


def state(row):
    if row.symbol in table.RESOLVERS:
        return "resolver"
    return {"record": "recorded", "observe": "observed", "pass": "passed"}[row.cls]


def effects(row):
    return "; ".join(
        f"{verb.replace('_', ' ')} {' or '.join(kind.replace('_', ' ') for kind in kinds)}"
        for verb, kinds in row.effects
    )


def collected(row):
    names = [
        f"*{o.name.replace('_', ' ')}*" if o.out else o.name.replace("_", " ") for o in row.operands
    ]
    text = ", ".join(names)
    if row.later:
        text += f"{'; ' if text else ''}not yet: {row.later}"
    return text


def page(rows):
    counts = {
        name: sum(state(row) == name for row in rows)
        for name in ("recorded", "observed", "resolver", "passed")
    }
    checked = sorted({row.first for row in rows} | {row.last for row in rows})
    out = [
        HEAD.format(
            rows=len(rows),
            versions=f"CUDA {release(checked[0])} to {release(checked[-1])}",
            record=counts["recorded"],
            observe=counts["observed"],
            resolvers=counts["resolver"],
            other=counts["passed"],
        )
    ]
    members = {title: [] for title, _ in FAMILIES}
    for row in rows:
        members[family_of(row)].append(row)
    for title, family in members.items():
        out += [
            f"## {title}",
            "",
            "| Entry | Since | State | Effects | Collected |",
            "|---|---|---|---|---|",
        ]
        # What is traced first: it is what readers look for.
        for row in sorted(family, key=lambda r: (state(r) == "passed", r.base, r.since, r.symbol)):
            cells = (
                f"`{row.symbol}`",
                release(row.since),
                state(row),
                effects(row),
                collected(row),
            )
            out.append(re.sub(r" {2,}", " ", f"| {' | '.join(cells)} |"))
        notes = [f"- `{row.key}`: {row.note}" for row in family if row.note and not row.stream_kind]
        if notes:
            out += ["", *notes]
        out.append("")
    return "\n".join(out).rstrip("\n") + "\n"


def main():
    text = page(table.load())
    if sys.argv[1:] == ["--check"]:
        if not PAGE.exists() or PAGE.read_text() != text:
            sys.exit("docs/coverage.md is not up to date: run driver_api/coverage.py")
        return
    if sys.argv[1:]:
        sys.exit(__doc__)
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(text)


if __name__ == "__main__":
    try:
        main()
    except table.TableError as error:
        sys.exit(f"driver_api: {error}")

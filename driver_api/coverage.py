#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/coverage.md: what gputrace does with each entry of the driver.

usage: coverage.py [--check] [RESULTS.json…]

RESULTS.json: what GoogleTest wrote of the tests that prove what the page says (--gtest_output). They are
kept in driver_api/test_results.tsv, which is used where none are given.
With --check, fails if the committed files are not up to date.
"""
import json
import pathlib
import re
import sys

import table

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs" / "coverage.md"
RESULTS = pathlib.Path(__file__).resolve().parent / "test_results.tsv"

# How a program may get at the driver, and the test that does it.
WAYS = (
    ("linked, bound lazily", "WaysIn/LinkedLazily"),
    ("linked with `-z now`", "WaysIn/LinkedNow"),
    ("linked with `-fno-plt`", "WaysIn/LinkedWithoutPlt"),
    ("function pointers in static data", "WaysIn/PointerInStaticData"),
    ("in a constructor that runs before ours", "WaysIn/ConstructorBeforeOurs"),
    ("a library linked to it, loaded with `RTLD_LOCAL`", "WaysIn/LibraryWithAScopeOfItsOwn"),
    ("`dlopen` and `dlsym`", "WaysIn/Dlsym"),
    ("the same by absolute path", "WaysIn/AbsolutePath"),
    ("`RTLD_DEEPBIND` handle and `dlsym`", "WaysIn/HandleWithDeepbind"),
    ("`dlsym(RTLD_DEFAULT)`", "WaysIn/RtldDefault"),
    ("`dlsym(RTLD_NEXT)`", "WaysIn/RtldNext"),
    ("`dlmopen` into a namespace of its own", "WaysIn/NamespaceOfItsOwn"),
    ("`dlsym`, `dlvsym`, `RTLD_DEFAULT` of a driver that looks itself up",
     "WaysIn.ADriverThatLooksItselfUpIsCountedOnce"),
    ("`cuGetProcAddress`", "WaysIn/GetProcAddressV1"),
    ("`cuGetProcAddress_v2`, also for older ABIs", "WaysIn.VersionsGetTheAbiTheyAskFor"),
    ("`cuGetProcAddress_v2` got through itself", "WaysIn/GetProcAddressThroughItself"),
    ("entries for per-thread default streams", "WaysIn.PerThreadStreamsAreEntriesOfTheirOwn"),
    ("ctypes of Python", "WaysIn.CtypesOfPython"),
    ("a runtime linked statically", "StaticRuntime/Newest"),
    ("the same with per-thread default streams", "StaticRuntime/PerThreadStream"),
    ("the same on a driver of CUDA 12.2", "StaticRuntime/OnCuda12"),
    ("the same on one of 11.4: hundreds of `dlsym`", "StaticRuntime/WithoutResolver"),
    ("beside a preload that exports entries and uses `RTLD_NEXT`, before us",
     "OtherExport/linked_lazy_BeforeUs"),
    ("the same after us", "OtherExport/linked_lazy_AfterUs"),
    ("beside a preload that overrides `dlsym`, after us", "OtherPreload/AfterUs"),
    ("the same before us: it goes on working, and hides the calls from us",
     "OtherPreload/BeforeUs"),
    ("probing where there is no driver", "WaysIn.WithoutADriverNobodyIsToldThatThereIsOne"),
)

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
- *Shown by*: the test that calls the entry by its exported name and through `dlsym`, finds arguments,
  out-parameters, answers and `errno` as the driver gives them, and the calls in the trace.
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


def read_results(paths):
    """What the tests said: {name: "passed" or "failed"}, parameters behind a slash."""
    results = {}
    for path in paths:
        for suite in json.loads(pathlib.Path(path).read_text())["testsuites"]:
            for test in suite["testsuite"]:
                suite_name = suite["name"].rpartition("/")[2]
                name, _, parameter = test["name"].partition("/")
                key = f"{suite_name}/{parameter}" if parameter else f"{suite_name}.{name}"
                ran = test["status"] == "RUN" and test["result"] == "COMPLETED"
                results[key] = "passed" if ran and not test.get("failures") else "failed"
    return results


def results_text(results):
    return "test\tresult\n" + "".join(f"{name}\t{results[name]}\n" for name in sorted(results))


def proof(row, results):
    """The test that has shown what the page says of an entry."""
    if state(row) == "passed":
        return ""
    name = "StaticRuntime/Newest" if row.symbol in table.RESOLVERS else f"Transparency/{row.symbol}"
    if name not in results:
        raise table.TableError(f"no test has shown that {row.symbol} is {state(row)}")
    return f"`{name}` {results[name]}"


def ways(results):
    out = ["## Ways in", "", "Each is a program that allocates and frees; every call must be in the trace, once,",
           "and answered as without the tracer.", "", "| Way | Test | Result |", "|---|---|---|"]
    for text, test in WAYS:
        if test not in results:
            raise table.TableError(f"no result of the test {test}")
        out.append(f"| {text} | `{test}` | {results[test]} |")
    return [*out, ""]


def stand_in():
    """What the stand-in driver's page says of the source of each of its behaviours."""
    text = (PAGE.parent.parent / "simulator" / "README.md").read_text()
    title = "## What it does, and why we believe it"
    section = text.partition(title)[2].partition("\n\nAll other")[0].strip("\n")
    if not section:
        raise table.TableError(f"simulator/README.md has no section '{title[3:]}'")
    return ["## The stand-in driver", "", "What the tests' truth rests on.", "", section, ""]


def page(rows, results):
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
    out += ways(results)
    members = {title: [] for title, _ in FAMILIES}
    for row in rows:
        members[family_of(row)].append(row)
    for title, family in members.items():
        out += [
            f"## {title}",
            "",
            "| Entry | Since | State | Effects | Collected | Shown by |",
            "|---|---|---|---|---|---|",
        ]
        # What is traced first: it is what readers look for.
        for row in sorted(family, key=lambda r: (state(r) == "passed", r.base, r.since, r.symbol)):
            cells = (
                f"`{row.symbol}`",
                release(row.since),
                state(row),
                effects(row),
                collected(row),
                proof(row, results),
            )
            out.append(re.sub(r" {2,}", " ", f"| {' | '.join(cells)} |"))
        notes = [f"- `{row.key}`: {row.note}" for row in family if row.note and not row.stream_kind]
        if notes:
            out += ["", *notes]
        out.append("")
    out += stand_in()
    return "\n".join(out).rstrip("\n") + "\n"


def update(path, text, check):
    if not check:
        path.write_text(text)
    elif not path.exists() or path.read_text() != text:
        sys.exit(f"{path} is not up to date: run scripts/docs")


def main():
    arguments = sys.argv[1:]
    check = arguments[:1] == ["--check"]
    paths = arguments[check:]
    if any(path.startswith("-") for path in paths):
        sys.exit(__doc__)
    if paths:
        results = read_results(paths)
        update(RESULTS, results_text(results), check)
    else:
        lines = RESULTS.read_text().splitlines()[1:]
        results = dict(line.split("\t") for line in lines)
    update(PAGE, page(table.load(), results), check)


if __name__ == "__main__":
    try:
        main()
    except table.TableError as error:
        sys.exit(f"driver_api: {error}")

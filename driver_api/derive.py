#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Derives the facts of driver_api/entries.tsv from CUDA's headers.

usage: derive.py [--out FILE] VERSION=INCLUDE_DIR…     (driver_api/pinned_headers prints these)

What is derived, and how:
  symbols     cuda.h declares every symbol with its suffix (_v2, _ptsz, …) if
              __CUDA_API_VERSION_INTERNAL is defined.
  versions    cudaTypedefs.h has one typedef PFN_NAME_vNNNN[_ptds|_ptsz] per ABI of an entry, where
              NNNN is the version that cuGetProcAddress knows the ABI by. For each name and stream
              kind, typedefs in order of NNNN belong to symbols in order of their _vN.
  names       a macro that gives a plain name to another entry altogether says what that name stands
              for (names.tsv); one that only adds a suffix says nothing new.
Only names, numbers and types come out; no text of a header does.
"""
import argparse
import collections
import pathlib
import re
import subprocess
import sys

import clang.cindex

HEADERS = ("cuda.h", "cudaProfiler.h", "cudaGL.h", "cudaEGL.h", "cudaVDPAU.h")
TYPEDEF_HEADERS = (
    "cudaTypedefs.h",
    "cudaProfilerTypedefs.h",
    "cudaGLTypedefs.h",
    "cudaEGLTypedefs.h",
    "cudaVDPAUTypedefs.h",
)
COLUMNS = ("symbol", "base", "suffix", "stream_kind", "since", "first", "last", "header", "params")
# Declared inline in the header: not a symbol of the driver.
INLINE = {"cuGetProcAddress_v2_ptsz"}


def split_symbol(symbol):
    """cuMemAllocAsync_v2_ptsz -> (cuMemAllocAsync, 2, ptsz)"""
    name, version, stream_kind = re.fullmatch(
        r"(cu\w*?)(?:_v(\d+))?(?:_(ptds|ptsz))?", symbol
    ).groups()
    return name, int(version or 1), stream_kind or "-"


# The packages have the graphics headers but not the window systems' that those include, and not
# cudaProfiler.h. What they need of them: types of the sizes that the window systems' standards say.
STAND_INS = {
    "GL/gl.h": "typedef unsigned int GLuint; typedef unsigned int GLenum;",
    "EGL/egl.h": "typedef int EGLint;",
    "EGL/eglext.h": "typedef void* EGLImageKHR; typedef void* EGLStreamKHR;"
    "typedef void* EGLSyncKHR;",
    "vdpau/vdpau.h": "typedef unsigned int VdpDevice; typedef unsigned int VdpVideoSurface;"
    "typedef unsigned int VdpOutputSurface; typedef int VdpGetProcAddress();",
    "cudaProfiler.h": "typedef enum CUoutput_mode_enum { CU_OUT } CUoutput_mode;",
}


def read_header(include_dir):
    """Returns ({symbol: (header, [(type, name)])}, {(base, stream kind): [version, …]},
    {name: symbol}, {alias: type})."""
    index = clang.cindex.Index.create()
    # Without the compiler's own headers size_t would silently become int.
    builtin = subprocess.check_output(["gcc", "-print-file-name=include"], text=True).strip()
    arguments = [
        "-x",
        "c",
        "-D__CUDA_API_VERSION_INTERNAL",
        "-isystem",
        builtin,
        f"-I{include_dir}",
    ]
    names = [n for n in HEADERS + TYPEDEF_HEADERS if (pathlib.Path(include_dir) / n).exists()]
    stand_ins = {n: text for n, text in STAND_INS.items() if n not in names}
    files = [("table.c", "".join(f"#include <{n}>\n" for n in [*stand_ins, *names]))]
    files += [(f"{include_dir}/{n}", "#pragma once\n" + text) for n, text in stand_ins.items()]
    unit = parse(index, arguments, files)
    # The renaming macros are there only without __CUDA_API_VERSION_INTERNAL.
    public = parse(index, [a for a in arguments if not a.startswith("-D")], files)
    functions, typedefs, aliases = {}, collections.defaultdict(list), {}
    for cursor in unit.cursor.get_children():
        if cursor.location.file is None:
            continue
        header = pathlib.Path(cursor.location.file.name).name
        if header not in HEADERS + TYPEDEF_HEADERS:
            continue
        if cursor.kind == clang.cindex.CursorKind.FUNCTION_DECL:
            if not re.match(r"cu[A-Z]", cursor.spelling) or cursor.spelling in INLINE:
                continue
            parameters = [(p.type.spelling, p.spelling) for p in cursor.get_arguments()]
            functions[cursor.spelling] = (header, parameters)
        elif cursor.kind == clang.cindex.CursorKind.TYPEDEF_DECL:
            match = re.fullmatch(r"PFN_(cu\w+?)_v(\d+)(?:_(ptds|ptsz))?", cursor.spelling)
            if not match:
                aliases[cursor.spelling] = cursor.underlying_typedef_type.spelling
                continue
            typedefs[match[1], match[3] or "-"].append(int(match[2]))
            if header == "cudaProfilerTypedefs.h":
                types = cursor.underlying_typedef_type.get_pointee().argument_types()
                parameters = [(t.spelling, f"parameter{i}") for i, t in enumerate(types)]
                functions[match[1]] = ("cudaProfiler.h", parameters)
    return functions, typedefs, renamed(public), aliases


def parse(index, arguments, files):
    unit = index.parse(
        "table.c",
        args=arguments,
        unsaved_files=files,
        options=clang.cindex.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD,
    )
    errors = [str(d) for d in unit.diagnostics if d.severity >= clang.cindex.Diagnostic.Error]
    if errors:
        sys.exit(f"{arguments[-1].removeprefix('-I')}: {errors[0]}")
    return unit


def renamed(unit):
    """{name: symbol} of the macros that give a name to an entry with another base."""
    found = {}
    for cursor in unit.cursor.get_children():
        if cursor.kind != clang.cindex.CursorKind.MACRO_DEFINITION or cursor.location.file is None:
            continue
        tokens = [token.spelling for token in cursor.get_tokens()]
        if (
            len(tokens) == 2
            and re.match(r"cu[A-Z]", tokens[0])
            and re.match(r"cu[A-Z]", tokens[1])
            and split_symbol(tokens[1])[0] != split_symbol(tokens[0])[0]
        ):
            found[tokens[0]] = tokens[1]
    return found


def read_version(include_dir):
    """({symbol: (header, [(type, name)], since)}, {name: symbol}, {alias: type}) of one version."""
    functions, typedefs, names, aliases = read_header(include_dir)
    since = pair_versions(functions, typedefs)
    declared = {
        symbol: (header, params, since.get(symbol, 0))
        for symbol, (header, params) in functions.items()
    }
    return declared, names, aliases


def pair_versions(functions, typedefs):
    """{symbol: version}: typedefs by number pair with symbols by suffix, from the newest end."""
    symbols = collections.defaultdict(list)
    for symbol in functions:
        base, suffix, stream_kind = split_symbol(symbol)
        symbols[base, stream_kind].append((suffix, symbol))
    since = {}
    for key, entries in symbols.items():
        versions = sorted(set(typedefs.get(key, [])))
        for (_, symbol), version in zip(reversed(sorted(entries)), reversed(versions)):
            since[symbol] = version
    return since


def derive(headers):
    """headers: [(version number, include dir)], any order. Returns dicts, sorted by symbol."""
    rows = {}
    for version, include_dir in sorted(headers):
        for symbol, (header, parameters, number) in read_version(include_dir)[0].items():
            base, suffix, stream_kind = split_symbol(symbol)
            row = rows.setdefault(symbol, {"symbol": symbol, "base": base, "first": version})
            if row.get("since", number) != number:
                print(
                    f"{symbol}: version {row['since']} in {row['last']}, {number} in {version}",
                    file=sys.stderr,
                )
            row.update(
                suffix=f"_v{suffix}" if suffix > 1 else "-",
                stream_kind=stream_kind,
                since=number,
                last=version,
                header=header,
                params=";".join(f"{t}|{n}" for t, n in parameters) or "-",
            )
    return [rows[symbol] for symbol in sorted(rows)]


def write(rows, out):
    out.write("\t".join(COLUMNS) + "\n")
    for row in rows:
        out.write("\t".join(str(row[column]) for column in COLUMNS) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("headers", nargs="+", metavar="VERSION=INCLUDE_DIR")
    arguments = parser.parse_args()
    headers = []
    for item in arguments.headers:
        version, include_dir = item.split("=", 1)
        headers.append((int(version), include_dir))
    rows = derive(headers)
    if arguments.out:
        with arguments.out.open("w") as out:
            write(rows, out)
    else:
        write(rows, sys.stdout)


if __name__ == "__main__":
    main()

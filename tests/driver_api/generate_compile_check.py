#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a C++ file that compiles only if the driver table fits the newest headers.

usage: generate_compile_check.py OUT.cc

Each row of cuda.h must have the header's signature, and each operand of a traced row must be an
expression over the row's parameters that has a value of at most 64 bits.
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "driver_api"))
import table  # noqa: E402

PRELUDE = """\
// Generated from driver_api/ by generate_compile_check.py; not to be edited.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include <cstdint>
#include <type_traits>

#include "interpose/hooks/collectors.h"

namespace gputrace::interpose {
namespace {

// Types of window systems' headers.
using GLenum = unsigned int;
using GLuint = unsigned int;
using EGLImageKHR = void*;
using VdpDevice = uint32_t;
using VdpGetProcAddress = int();
using VdpOutputSurface = uint32_t;
using VdpVideoSurface = uint32_t;

template <typename T>
uint64_t Word(T value) {
  static_assert(std::is_pointer_v<T> || std::is_integral_v<T> || std::is_enum_v<T>);
  static_assert(sizeof(T) <= sizeof(uint64_t));
  if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<uint64_t>(value);
  } else {
    return static_cast<uint64_t>(value);
  }
}

"""


def declare(params):
    return ", ".join(
        kind.replace("(*)", f"(*{name})") if "(*)" in kind else f"{kind} {name}"
        for kind, name in params
    )


def main():
    rows = table.load()
    newest = max(row.last for row in rows)
    lines = []
    for row in rows:
        if row.header == "cuda.h" and row.last == newest:
            lines.append(
                f"static_assert(std::is_same_v<decltype({row.symbol}), "
                f'CUresult({declare(row.params)})>, "{row.symbol}");'
            )
    for row in table.traced(rows):
        words = [f"    Word({operand.expression}),  // {operand.name}" for operand in row.operands]
        if words:
            lines += [
                f"[[maybe_unused]] void {row.symbol}_operands("
                f"{', '.join('[[maybe_unused]] ' + declare([p]) for p in row.params)}) {{",
                "  [[maybe_unused]] const uint64_t words[] = {",
                *words,
                "  };",
                "}",
            ]
    text = PRELUDE + "\n".join(lines) + "\n\n}  // namespace\n}  // namespace gputrace::interpose\n"
    pathlib.Path(sys.argv[1]).write_text(text)


if __name__ == "__main__":
    try:
        main()
    except table.TableError as error:
        sys.exit(f"driver_api: {error}")

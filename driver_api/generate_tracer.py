#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what the tracer needs of the table.

usage: generate_tracer.py OUT_DIR
  entry_table.cc  kEntries: the descriptors of the traced entries
  wrappers.cc     a typed body per traced entry, its exported thunk and its bound ones
  bases.cc        which symbols a name stands for by version: what cuGetProcAddress may answer
  exports.map     the version script with all that libgputrace.so exports
"""
import dataclasses
import pathlib
import re
import sys

import table

BOUND_THUNKS = 4
# Resolvers: wrapped too, with bodies of their own in interpose/resolve.
RESOLVERS = ("cuGetProcAddress", "cuGetProcAddress_v2")
OTHER_EXPORTS = ("dlclose", "dlsym", "dlvsym")
HEADER = "// Generated from driver_api/ by generate_tracer.py; not to be edited.\n"


def camel(word):
    return "k" + "".join(part.capitalize() for part in word.split("_"))


def predictor(row, operand):
    """Addresses and handles that come into being, or end, are predicted from each other."""
    verbs = {verb for verb, _ in row.effects}
    identities = ("address", "handle", "array", "stream", "event", "module", "library", "graph_exec")
    if operand.role in identities:
        if operand.out and verbs & {"open", "map"}:
            return "kOpen"
        if not operand.out and verbs & table.ENDING_VERBS:
            return "kClose"
    return "kLast"


def operands_of(row):
    """The row's operands, with the capture id that stream-ordered records carry in addition."""
    operands = list(row.operands)
    if row.cls == "record" and row.stream_parameter and row.capture == "node":
        position = sum(not operand.out for operand in operands)
        operands.insert(position, table.Operand("capture", "", "capture", False))
    return operands


def entry_table(rows):
    out = [HEADER, '#include "interpose/hooks/entry_table.h"\n', "namespace gputrace::interpose {",
           "using namespace trace;", "namespace {"]
    for number, row in enumerate(rows, 1):
        effects = []
        for verb, kinds in row.effects:
            bits = " | ".join(f"KindBit(ObjectKind::{camel(kind)})" for kind in kinds)
            effects.append(f"{{Verb::{camel(verb)}, {bits}}}")
        if effects:
            out.append(f"constexpr StaticEffect kEffects{number}[] = {{{', '.join(effects)}}};")
        operands = [f'{{"{o.name}", Role::{camel(o.role)}, {str(o.out).lower()}, '
                    f"Predictor::{predictor(row, o)}}}" for o in operands_of(row)]
        if operands:
            out.append(f"constexpr StaticOperand kOperands{number}[] = {{{', '.join(operands)}}};")
    out += ["}  // namespace", "const StaticEntry kEntries[] = {", "    {},"]
    sources = {"current": "kCurrent", "none": "kNone", "param": "kParameter", "device": "kDevice",
               "out": "kOut"}
    rules = {"legal": "kLegal", "prohibited": "kProhibited", "node": "kNode"}
    for number, row in enumerate(rows, 1):
        count = len(operands_of(row))
        out.append(
            f'    {{"{row.symbol}", EntryClass::{camel(row.cls)}, {str(row.intent).lower()}, '
            f"ContextSource::{sources[row.context.partition(':')[0]]}, "
            f"CaptureRule::{rules[row.capture]}, "
            f"{f'kEffects{number}' if row.effects else 'nullptr'}, {len(row.effects)}, "
            f"{f'kOperands{number}' if count else 'nullptr'}, {count}}},")
    out += ["};", f"const uint16_t kEntryCount = {len(rows)};",
            f"static_assert({len(rows)} <= kMaxEntries);", "}  // namespace gputrace::interpose", ""]
    return "\n".join(out)


def guarded(expression, row):
    """The operand as uint64_t; 0 if a pointer that the expression follows is NULL."""
    pointers = {name for kind, name in row.params if "*" in kind}
    followed = set(re.findall(r"(\w+)->", expression)) | set(re.findall(r"\*(\w+)", expression))
    checks = sorted(followed & pointers)
    value = f"ToWord({expression})"
    if not checks:
        return value
    return f"{' && '.join(f'{name} != nullptr' for name in checks)} ? {value} : 0"


def declare(params):
    return ", ".join(declarator(kind, name) for kind, name in params)


def declarator(kind, name):
    if "(*)" in kind:
        return kind.replace("(*)", f"(*{name})")
    return f"{kind} {name}"


def body(number, row):
    """The typed body: what all thunks of the entry share."""
    names = ", ".join(name for _, name in row.params)
    parameters = declare(row.params)
    lines = [f"using Function{number} = CUresult({parameters});",
             f"[[gnu::noinline]] CUresult Body{number}(Function{number}* next"
             f"{', ' + parameters if parameters else ''}) {{"]
    if row.symbol in RESOLVERS:
        lines += [f"  const CUresult result = next({names});",
                  "  if (result == CUDA_SUCCESS && symbol != nullptr && pfn != nullptr) {",
                  "    *pfn = WrapResolved({symbol, cudaVersion, flags, *pfn}, next);", "  }",
                  "  return result;", "}"]
        return lines
    lines += [f"  CallScope call({number});", f"  if (!call.active()) return next({names});"]
    operands = operands_of(row)
    # Freeing nothing is a call that does nothing: no event.
    closes = [o for o in operands if not o.out and o.role == "address" and row.intent]
    if row.key in ("cuMemFree_v2", "cuMemFreeAsync", "cuMemFreeHost") and closes:
        lines.append(f"  if ({guarded(closes[0].expression, row)} == 0) return next({names});")
    for operand in operands:
        if operand.out:
            continue
        if operand.role == "capture":
            stream = row.stream_parameter
            if row.stream_kind:
                stream = f"PerThreadDefault({stream})"
            lines.append(f"  call.Operand(CaptureOf({stream}));")
        else:
            lines.append(f"  call.Operand({guarded(operand.expression, row)});")
    if row.intent:
        lines.append("  call.CommitIntent();")
    sampled = takes_driver_memory(row)
    if sampled:
        lines.append(f"  MemorySample sample({number});")
    lines += ["  call.BeforeCall();", f"  const CUresult result = next({names});",
              "  call.AfterCall(result);"]
    success = [f"call.OutOperand({guarded(o.expression, row)});" for o in operands if o.out]
    verbs = {verb for verb, _ in row.effects}
    if "capture_begin" in verbs:
        success.append("NoteCapture(1);")
    if "capture_end" in verbs:
        success.append("NoteCapture(-1);")
    if success:
        lines += ["  if (result == CUDA_SUCCESS) {", *(f"    {line}" for line in success), "  }"]
    lines.append("  call.Commit();")
    if verbs & {"set_current", "reset"} or row.key == "cuDevicePrimaryCtxRetain":
        lines.append("  if (result == CUDA_SUCCESS) NoteContextChange();")
    if sampled:
        lines.append("  if (result == CUDA_SUCCESS) sample.After();")
    elif "set_current" in verbs:
        lines.append("  if (result == CUDA_SUCCESS) SampleFirst();")
    lines += [f"  if (result == CUDA_SUCCESS) {call};" for call in samples_of_keepers(row)]
    lines += ["  return result;", "}"]
    return lines


def takes_driver_memory(row):
    """Whether the driver may take or give back memory of its own by the call."""
    kinds = {"context", "primary_context", "green_context", "module", "library", "graph_exec"}
    verbs = {"open", "close", "retain", "release", "reset"}
    return any(verb in verbs and kinds & set(named) or verb == "set" and "limit" in named
               for verb, named in row.effects)


def samples_of_keepers(row):
    """Samples of pools and graphs, which keep memory that no call shows."""
    calls = []
    for verb, kinds in row.effects:
        in_order = row.stream_parameter and verb in ("open", "close") and "pool_block" in kinds
        if in_order or verb == "trim" and "pool" in kinds:
            pools = [o for o in row.operands if o.role == "pool" and not o.out]
            calls.append(f"SamplePool({guarded(pools[0].expression, row) if pools else 0})")
        if verb == "launch" or verb == "trim" and "graph" in kinds:
            calls.append("SampleGraphMemory()")
    return sorted(set(calls))


def thunks(number, row):
    names = ", ".join(name for _, name in row.params)
    parameters = declare(row.params)
    arguments = f", {names}" if names else ""
    return [
        f"template <int kSlot>",
        f"CUresult Bound{number}({parameters}) {{",
        f"  return Body{number}(NextOf<Function{number}>(g_bound[{number}][kSlot]){arguments});",
        "}",
        "}  // namespace",
        f'extern "C" GPUTRACE_EXPORT CUresult {row.symbol}({parameters}) {{',
        f"  const void* next = ExportedNext({number});",
        "  if (next == nullptr) return CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND;",
        f"  return Body{number}(NextOf<Function{number}>(next){arguments});",
        "}",
        "namespace {",
    ]


def wrappers(rows):
    out = [HEADER, '#include "interpose/hooks/wrapper_prelude.h"\n',
           "namespace gputrace::interpose {", "namespace {"]
    for number, row in enumerate(rows, 1):
        out += ["", *body(number, row), *thunks(number, row)]
    out += ["}  // namespace", "", "const Wrapper kWrappers[] = {", "    {},"]
    for number, row in enumerate(rows, 1):
        bound = ", ".join(f"FunctionWord(Bound{number}<{slot}>)" for slot in range(BOUND_THUNKS))
        out.append(f'    {{"{row.symbol}", FunctionWord({row.symbol}), {{{bound}}}}},')
    out += ["};", f"const uint16_t kWrapperCount = {len(rows)};",
            f"std::atomic<const void*> g_bound[{len(rows) + 1}][kBoundThunks];",
            f"std::atomic<const void*> g_exported[{len(rows) + 1}];",
            f"static_assert(kBoundThunks == {BOUND_THUNKS});",
            f"static_assert({len(rows)} <= kMaxWrappers);",
            "}  // namespace gputrace::interpose", ""]
    return "\n".join(out)


def is_missed(row, family):
    """Passed through, though a later version of it changes memory: an ABI with 32-bit addresses."""
    changes = {"open", "close", "release", "map", "unmap"}
    return row.cls == "pass" and any(
        other.cls == "record" and changes & {verb for verb, _ in other.effects} for other in family)


def bases(all_rows, wrapped):
    numbers = {row.symbol: number for number, row in enumerate(wrapped, 1)}
    families = {}
    for row in all_rows:
        families.setdefault(row.base, []).append(row)
    by_symbol = {row.symbol: row for row in all_rows}
    for name, since, symbol in table.load_names(all_rows):
        families[name].append(dataclasses.replace(by_symbol[symbol], since=since))
    out = [HEADER, '#include "interpose/resolve/bases.h"\n', "namespace gputrace::interpose {",
           "namespace {"]
    entries = []
    for position, base in enumerate(sorted(families, key=lambda name: name.encode())):
        versions = []
        for row in sorted(families[base], key=lambda r: (r.since, r.symbol)):
            kind = "true" if row.stream_kind else "false"
            missed = "true" if is_missed(row, families[base]) else "false"
            versions.append(f'{{"{row.symbol}", {row.since}, {kind}, {missed}, '
                            f"{numbers.get(row.symbol, 0)}}}")
        out.append(f"constexpr BaseVersion kVersions{position}[] = {{{', '.join(versions)}}};")
        entries.append(f'    {{"{base}", kVersions{position}, {len(versions)}}},')
    out += ["}  // namespace", "const Base kBases[] = {", *entries, "};",
            f"const uint32_t kBaseCount = {len(entries)};",
            f"const int kNewestVersion = {max(row.last for row in all_rows)};", "}  // namespace gputrace::interpose", ""]
    return "\n".join(out)


def exports(rows):
    names = sorted([row.symbol for row in rows] + list(OTHER_EXPORTS))
    return "{\n  global:\n" + "".join(f"    {name};\n" for name in names) + "  local:\n    *;\n};\n"


def main():
    out = pathlib.Path(sys.argv[1])
    rows = table.load()
    traced = table.traced(rows)
    wrapped = traced + [row for row in rows if row.symbol in RESOLVERS]
    out.mkdir(parents=True, exist_ok=True)
    (out / "entry_table.cc").write_text(entry_table(traced))
    (out / "wrappers.cc").write_text(wrappers(wrapped))
    (out / "bases.cc").write_text(bases(rows, wrapped))
    (out / "exports.map").write_text(exports(wrapped))


if __name__ == "__main__":
    try:
        main()
    except table.TableError as error:
        sys.exit(f"driver_api/semantics.toml: {error}")

# SPDX-License-Identifier: Apache-2.0
"""The driver table: derived facts (entries.tsv) joined with what they mean (semantics.toml).

load() returns one Row per ELF symbol and load_names() what names stand for beside their own symbols
(names.tsv). Both raise TableError, with one sentence that says what and where, if the files do not
fit together. Standard library only: the build runs this.
"""
import dataclasses
import pathlib
import re
import tomllib

HERE = pathlib.Path(__file__).resolve().parent

# In the order of the enums in trace/format.h: positions are the numbers that traces carry.
VERBS = (
    "open close retain release map unmap bind unbind set_current sync wait capture_begin "
    "capture_end launch sample trim set export reset prefetch advise query"
).split()
KINDS = (
    "device managed pinned registered pool_block pool vmm_handle mapping reserved_va array "
    "mipmap ipc_import external_memory external_buffer graph graph_exec graph_node context "
    "primary_context green_context module library stream event multicast texture limit access "
    "process"
).split()
ROLES = (
    "address handle size pool offset location location_type node stream event context device "
    "graph graph_exec module library array flags attribute value count fd ipc_handle string "
    "limit capture pitch result"
).split()
CLASSES = ("record", "observe", "pass")
CAPTURE_RULES = ("legal", "prohibited", "node")
# Effects after which an address or a handle may be used again.
ENDING_VERBS = {"close", "release", "unmap", "unbind", "reset"}
SECTION_KEYS = {"class", "effects", "operands", "context", "capture", "intent", "note", "later"}
LIST_KEYS = {"effects", "operands"}
COLUMNS = ["symbol", "base", "suffix", "stream_kind", "since", "first", "last", "header", "params"]
NAME_COLUMNS = ["name", "since", "symbol", "source"]
STREAM_KINDS = ("-", "ptds", "ptsz")
# What expressions may use beside parameters: see the head of semantics.toml.
COLLECTORS = {
    "ImageBytes",
    "FileBytes",
    "ArrayBytes",
    "Array3DBytes",
    "MipmapBytes",
    "AllocationBytes",
    "HashBytes",
    "ShareableHandle",
    "ImportedHandle",
    "PoolAttributeValue",
    "ReadU64",
    "ReadInt",
    "NodeBytes",
    "NodeAddress",
}
CPP_WORDS = {"reinterpret_cast", "static_cast", "uint64_t", "sizeof"}
# The role that the operand must have which says where the context comes from.
CONTEXT_ROLES = {"param": "context", "out": "context", "device": "device"}
# Wrapped by code of the tracer's own, not by what is generated from the table.
RESOLVERS = ("cuGetProcAddress", "cuGetProcAddress_v2")


class TableError(Exception):
    pass


@dataclasses.dataclass(frozen=True)
class Operand:
    name: str
    expression: str
    role: str
    out: bool


@dataclasses.dataclass(frozen=True)
class Row:
    symbol: str
    base: str
    suffix: str
    stream_kind: str
    since: int
    first: int
    last: int
    header: str
    params: tuple  # of (type, name)
    cls: str = "pass"
    effects: tuple = ()  # of (verb, (kind, …))
    operands: tuple = ()
    context: str = "current"
    capture: str = "legal"
    intent: bool = False
    note: str = ""
    later: str = ""  # what of the call is not collected yet

    @property
    def key(self):
        return self.base + self.suffix

    @property
    def stream_parameter(self):
        for operand in self.operands:
            if operand.role == "stream" and not operand.out:
                return operand.expression
        return None


def parse_params(text):
    if text == "-":
        return ()
    return tuple(tuple(item.rsplit("|", 1)) for item in text.split(";"))


def read_tsv(path, columns):
    """Yields (line number, {column: text})."""
    lines = pathlib.Path(path).read_text().splitlines()
    if not lines or lines[0].split("\t") != columns:
        raise TableError(f"{path}:1: the columns must be {' '.join(columns)}")
    for number, line in enumerate(lines[1:], 2):
        fields = line.split("\t")
        if len(fields) != len(columns):
            raise TableError(f"{path}:{number}: {len(fields)} fields in place of {len(columns)}")
        yield number, dict(zip(columns, fields))


def number_of(path, line, column, text):
    if not text.isdecimal():
        raise TableError(f"{path}:{line}: {column} '{text}' is not a number")
    return int(text)


def load_entries(path=HERE / "entries.tsv"):
    rows = {}
    for line, row in read_tsv(path, COLUMNS):
        if row["symbol"] in rows:
            raise TableError(f"{path}:{line}: {row['symbol']} is there twice")
        if row["stream_kind"] not in STREAM_KINDS:
            raise TableError(f"{path}:{line}: stream_kind must be one of {', '.join(STREAM_KINDS)}")
        since, first, last = (
            number_of(path, line, column, row[column]) for column in ("since", "first", "last")
        )
        rows[row["symbol"]] = Row(
            symbol=row["symbol"],
            base=row["base"],
            suffix="" if row["suffix"] == "-" else row["suffix"],
            stream_kind="" if row["stream_kind"] == "-" else row["stream_kind"],
            since=since,
            first=first,
            last=last,
            header=row["header"],
            params=parse_params(row["params"]),
        )
    # The header names parameters of some twins differently; the plain symbol's names hold for all.
    plain = {symbol: row.params for symbol, row in rows.items() if not row.stream_kind}
    return [
        dataclasses.replace(row, params=rename(row, plain.get(row.key, row.params)))
        for row in rows.values()
    ]


def rename(row, names):
    if len(row.params) != len(names):
        raise TableError(
            f"{row.symbol} has {len(row.params)} parameters, {row.key} has {len(names)}"
        )
    return tuple((kind, name) for (kind, _), (_, name) in zip(row.params, names))


def parse_effect(section, text):
    verb, _, kinds = text.partition(" ")
    kinds = tuple(kinds.split("|"))
    if verb not in VERBS:
        raise TableError(f"[{section}] effect '{text}': unknown verb '{verb}'")
    for kind in kinds:
        if kind not in KINDS:
            raise TableError(f"[{section}] effect '{text}': unknown kind '{kind}'")
    return verb, kinds


def parse_operand(section, text, params):
    definition, separator, role = text.rpartition(" : ")
    if not separator:
        raise TableError(f"[{section}] operand '{text}': must be 'name[=expression] : role[ out]'")
    out = role.endswith(" out")
    role = role.removesuffix(" out").strip()
    name, _, expression = definition.partition("=")
    expression = (expression or name).strip()
    if role not in ROLES:
        raise TableError(f"[{section}] operand '{text}': unknown role '{role}'")
    check_expression(section, text, expression, {name for _, name in params})
    return Operand(name.strip(), expression, role, out)


def check_expression(section, text, expression, names):
    # Without members (.x, ->x): what is left is a parameter, a collector or C++.
    free = re.sub(r"(?:\.|->)\s*[A-Za-z_]\w*", "", expression)
    words = set(re.findall(r"[A-Za-z_]\w*", free)) - CPP_WORDS
    for word in sorted(words - names - COLLECTORS):
        raise TableError(
            f"[{section}] operand '{text}': '{word}' is no parameter of the entry "
            f"({', '.join(sorted(names)) or 'it has none'})"
        )
    if not words & names:
        raise TableError(
            f"[{section}] operand '{text}': uses no parameter of the entry "
            f"({', '.join(sorted(names)) or 'it has none'})"
        )


def check_context(section, context, operands):
    source, separator, name = context.partition(":")
    if source not in ("current", "none", *CONTEXT_ROLES) or bool(separator) != (
        source in CONTEXT_ROLES
    ):
        raise TableError(f"[{section}] unknown context '{context}'")
    if source not in CONTEXT_ROLES:
        return
    found = [o for o in operands if o.name == name and o.out == (source == "out")]
    if not found:
        direction = "out" if source == "out" else "in"
        raise TableError(
            f"[{section}] context '{context}': there is no {direction} operand '{name}'"
        )
    if found[0].role != CONTEXT_ROLES[source]:
        raise TableError(
            f"[{section}] context '{context}': the role of '{name}' is {found[0].role}, "
            f"not {CONTEXT_ROLES[source]}"
        )


def parse_section(name, section, row):
    for key in section:
        if key not in SECTION_KEYS:
            raise TableError(f"[{name}] unknown key '{key}'")
        kind = list if key in LIST_KEYS else bool if key == "intent" else str
        if not isinstance(section[key], kind):
            raise TableError(f"[{name}] {key} must be a {kind.__name__}")
    cls = section.get("class")
    if cls not in CLASSES:
        raise TableError(f"[{name}] class must be one of {', '.join(CLASSES)}")
    effects = tuple(parse_effect(name, text) for text in section.get("effects", []))
    operands = tuple(parse_operand(name, text, row.params) for text in section.get("operands", []))
    outs = [operand.out for operand in operands]
    if outs != sorted(outs):
        raise TableError(f"[{name}] in operands must come before out operands")
    names = [operand.name for operand in operands]
    for operand in names:
        if names.count(operand) > 1:
            raise TableError(f"[{name}] operand '{operand}' is there twice")
    capture = section.get("capture", "legal")
    if capture not in CAPTURE_RULES:
        raise TableError(f"[{name}] capture must be one of {', '.join(CAPTURE_RULES)}")
    context = section.get("context", "current")
    check_context(name, context, operands)
    intent = section.get("intent", any(verb in ENDING_VERBS for verb, _ in effects))
    return dict(
        cls=cls,
        effects=effects,
        operands=operands,
        context=context,
        capture=capture,
        intent=intent,
        note=section.get("note", ""),
        later=section.get("later", ""),
    )


def load(entries=HERE / "entries.tsv", semantics=HERE / "semantics.toml"):
    rows = load_entries(entries)
    try:
        sections = tomllib.loads(pathlib.Path(semantics).read_text())
    except tomllib.TOMLDecodeError as error:
        raise TableError(f"{semantics}: {error}") from error
    known = {row.key for row in rows}
    for name in sections:
        if name not in known:
            raise TableError(
                f"[{name}] is not an entry of the driver (entries.tsv has no such symbol)"
            )
    return [
        (
            dataclasses.replace(row, **parse_section(row.key, sections[row.key], row))
            if row.key in sections
            else row
        )
        for row in rows
    ]


def load_names(rows, path=HERE / "names.tsv"):
    """[(name, since, symbol)]: asked for `name` from `since` on, the driver answers `symbol`."""
    symbols = {row.symbol for row in rows}
    names = []
    for line, row in read_tsv(path, NAME_COLUMNS):
        for column in ("name", "symbol"):
            if row[column] not in symbols:
                raise TableError(f"{path}:{line}: {row[column]} is not an entry of the driver")
        names.append((row["name"], number_of(path, line, "since", row["since"]), row["symbol"]))
    return names


def traced(rows):
    """The rows that get wrappers, in the order that gives them their ids from 1."""
    return [row for row in rows if row.cls != "pass"]

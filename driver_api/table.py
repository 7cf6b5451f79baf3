# SPDX-License-Identifier: Apache-2.0
"""The driver table: derived facts (entries.tsv) joined with what they mean (semantics.toml).

load() returns one Row per ELF symbol and raises TableError, with one sentence that says what and
where, if the two files do not fit together. Standard library only: the build runs this.
"""
import dataclasses
import pathlib
import re
import tomllib

HERE = pathlib.Path(__file__).resolve().parent

# In the order of the enums in trace/format.h: positions are the numbers that traces carry.
VERBS = ("open close retain release map unmap bind unbind set_current sync wait capture_begin "
         "capture_end launch sample trim set export reset prefetch advise query").split()
KINDS = ("device managed pinned registered pool_block pool vmm_handle mapping reserved_va array "
         "mipmap ipc_import external_memory external_buffer graph graph_exec graph_node context "
         "primary_context green_context module library stream event multicast texture limit access "
         "process").split()
ROLES = ("address handle size pool offset location location_type node stream event context device "
         "graph graph_exec module library array flags attribute value count fd ipc_handle string "
         "limit capture pitch result").split()
CLASSES = ("record", "observe", "pass")
CAPTURE_RULES = ("legal", "prohibited", "node")
# Effects after which an address or a handle may be used again.
ENDING_VERBS = {"close", "release", "unmap", "reset"}
SECTION_KEYS = {"class", "effects", "operands", "context", "capture", "intent", "note"}


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


def load_entries(path=HERE / "entries.tsv"):
    lines = path.read_text().splitlines()
    columns = lines[0].split("\t")
    rows = []
    for line in lines[1:]:
        row = dict(zip(columns, line.split("\t")))
        rows.append(Row(
            symbol=row["symbol"], base=row["base"], suffix="" if row["suffix"] == "-" else row["suffix"],
            stream_kind="" if row["stream_kind"] == "-" else row["stream_kind"],
            since=int(row["since"]), first=int(row["first"]), last=int(row["last"]),
            header=row["header"], params=parse_params(row["params"])))
    # The header names the parameters of some twins differently; the plain symbol's names hold for all.
    plain = {row.symbol: row.params for row in rows if not row.stream_kind}
    return [dataclasses.replace(row, params=rename(row.params, plain.get(row.key, row.params)))
            for row in rows]


def rename(params, names):
    return tuple((kind, name) for (kind, _), (_, name) in zip(params, names))


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
    words = set(re.findall(r"[A-Za-z_]\w*", expression))
    names = {name for _, name in params}
    if not words & names:
        raise TableError(f"[{section}] operand '{text}': uses no parameter of the entry "
                         f"({', '.join(sorted(names)) or 'it has none'})")
    return Operand(name.strip(), expression, role, out)


def parse_section(name, section, row):
    for key in section:
        if key not in SECTION_KEYS:
            raise TableError(f"[{name}] unknown key '{key}'")
    cls = section.get("class")
    if cls not in CLASSES:
        raise TableError(f"[{name}] class must be one of {', '.join(CLASSES)}")
    effects = tuple(parse_effect(name, text) for text in section.get("effects", []))
    operands = tuple(parse_operand(name, text, row.params) for text in section.get("operands", []))
    outs = [operand.out for operand in operands]
    if outs != sorted(outs):
        raise TableError(f"[{name}] in operands must come before out operands")
    capture = section.get("capture", "legal")
    if capture not in CAPTURE_RULES:
        raise TableError(f"[{name}] capture must be one of {', '.join(CAPTURE_RULES)}")
    context = section.get("context", "current")
    source, _, operand = context.partition(":")
    if source not in ("current", "none", "param", "device", "out"):
        raise TableError(f"[{name}] unknown context '{context}'")
    if operand and operand not in [o.name for o in operands]:
        raise TableError(f"[{name}] context '{context}': there is no operand '{operand}'")
    intent = section.get("intent", any(verb in ENDING_VERBS for verb, _ in effects))
    return dict(cls=cls, effects=effects, operands=operands, context=context, capture=capture,
                intent=intent, note=section.get("note", ""))


def load(entries=HERE / "entries.tsv", semantics=HERE / "semantics.toml"):
    rows = load_entries(entries)
    with open(semantics, "rb") as file:
        sections = tomllib.load(file)
    known = {row.key for row in rows}
    for name in sections:
        if name not in known:
            raise TableError(f"[{name}] is not an entry of the driver (entries.tsv has no such symbol)")
    return [dataclasses.replace(row, **parse_section(row.key, sections[row.key], row))
            if row.key in sections else row for row in rows]


def traced(rows):
    """The rows that get wrappers, in the order that gives them their ids from 1."""
    return [row for row in rows if row.cls != "pass"]

# SPDX-License-Identifier: Apache-2.0
"""What the loader of the driver table refuses, in which words, and what the real table says."""
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "driver_api"))
import table  # noqa: E402

HEADER = "\t".join(table.COLUMNS) + "\n"
ALLOC = (
    "cuMemAllocAsync\tcuMemAllocAsync\t-\t-\t11020\t11080\t13050\tcuda.h\t"
    "CUdeviceptr *|dptr;size_t|bytesize;CUstream|hStream\n"
)
TWIN = (
    "cuMemAllocAsync_ptsz\tcuMemAllocAsync\t-\tptsz\t11020\t11080\t13050\tcuda.h\t"
    "CUdeviceptr *|pointer;size_t|bytes;CUstream|stream\n"
)
CONTEXT = "cuCtxDestroy_v2\tcuCtxDestroy\t_v2\t-\t4000\t11080\t13050\tcuda.h\tCUcontext|ctx\n"


class TableTest(unittest.TestCase):
    def load(self, semantics, entries=ALLOC + TWIN + CONTEXT, header=HEADER):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "entries.tsv").write_text(header + entries)
            (folder / "semantics.toml").write_text(semantics)
            return table.load(folder / "entries.tsv", folder / "semantics.toml")

    def refused(self, message, semantics="", **files):
        with self.assertRaises(table.TableError) as caught:
            self.load(semantics, **files)
        self.assertIn(message, str(caught.exception))
        self.assertNotIn("\n", str(caught.exception))

    def section(self, text, name="cuMemAllocAsync"):
        return f'[{name}]\nclass = "record"\n{text}\n'


class MeaningsTest(TableTest):
    def test_a_section_holds_for_the_twins_and_other_entries_pass(self):
        rows = self.load(
            self.section(
                'effects = ["open pool_block|device"]\n'
                'operands = ["size=bytesize : size", "address=*dptr : address out"]'
            )
        )
        alloc, twin, destroy = rows
        self.assertEqual(alloc.effects, (("open", ("pool_block", "device")),))
        self.assertEqual(
            [(o.name, o.expression, o.role, o.out) for o in alloc.operands],
            [("size", "bytesize", "size", False), ("address", "*dptr", "address", True)],
        )
        self.assertEqual(twin.operands, alloc.operands)
        self.assertEqual([name for _, name in twin.params], ["dptr", "bytesize", "hStream"])
        self.assertEqual((destroy.cls, destroy.operands, destroy.intent), ("pass", (), False))

    def test_an_operand_without_expression_is_the_parameter(self):
        rows = self.load(self.section('operands = ["bytesize : size"]'))
        self.assertEqual(rows[0].operands[0].expression, "bytesize")

    def test_what_ends_something_has_an_intent_unless_told_otherwise(self):
        close = 'effects = ["close context"]\n'
        self.assertTrue(self.load(self.section(close, "cuCtxDestroy_v2"))[2].intent)
        self.assertFalse(
            self.load(self.section(close + "intent = false", "cuCtxDestroy_v2"))[2].intent
        )
        self.assertFalse(self.load(self.section('effects = ["open device"]'))[0].intent)

    def test_unknown_symbol(self):
        self.refused(
            "[cuMemAllocSoon] is not an entry of the driver", self.section("", "cuMemAllocSoon")
        )

    def test_a_section_for_a_twin_alone(self):
        self.refused(
            "[cuMemAllocAsync_ptsz] is not an entry", self.section("", "cuMemAllocAsync_ptsz")
        )

    def test_bad_role(self):
        self.refused("unknown role 'adress'", self.section('operands = ["bytesize : adress"]'))

    def test_missing_role(self):
        self.refused(
            "must be 'name[=expression] : role[ out]'", self.section('operands = ["bytesize"]')
        )

    def test_operand_of_an_unknown_parameter(self):
        self.refused(
            "'nbytes' is no parameter of the entry (bytesize, dptr, hStream)",
            self.section('operands = ["size=nbytes : size"]'),
        )

    def test_operand_of_a_known_and_an_unknown_parameter(self):
        self.refused(
            "'height' is no parameter", self.section('operands = ["size=bytesize * height : size"]')
        )

    def test_operand_with_an_unknown_function(self):
        self.refused(
            "'SizeOf' is no parameter", self.section('operands = ["size=SizeOf(dptr) : size"]')
        )

    def test_operand_that_uses_no_parameter(self):
        self.refused("uses no parameter", self.section('operands = ["size=4096 : size"]'))

    def test_members_functions_and_casts_are_no_parameters(self):
        self.load(
            self.section(
                'operands = ["a=dptr->location.id : location", "b=ReadInt(dptr) : value",'
                ' "c=reinterpret_cast<uint64_t>(dptr) : value"]'
            )
        )

    def test_operand_twice(self):
        self.refused(
            "operand 'size' is there twice",
            self.section('operands = ["size=bytesize : size", "size=bytesize : size"]'),
        )

    def test_out_before_in(self):
        self.refused(
            "in operands must come before out operands",
            self.section('operands = ["address=*dptr : address out", "bytesize : size"]'),
        )

    def test_unknown_verb_and_kind(self):
        self.refused("unknown verb 'opens'", self.section('effects = ["opens device"]'))
        self.refused("unknown kind 'vram'", self.section('effects = ["open vram"]'))
        self.refused("unknown kind ''", self.section('effects = ["open"]'))

    def test_class_capture_and_keys(self):
        self.refused(
            "class must be one of record, observe, pass", '[cuMemAllocAsync]\nclass = "trace"\n'
        )
        self.refused("class must be one of", "[cuMemAllocAsync]\n")
        self.refused("capture must be one of", self.section('capture = "illegal"'))
        self.refused("unknown key 'effect'", self.section('effect = ["open device"]'))
        self.refused("effects must be a list", self.section('effects = "open device"'))
        self.refused("intent must be a bool", self.section('intent = "yes"'))

    def test_context(self):
        self.refused("unknown context 'thread'", self.section('context = "thread"'))
        self.refused("unknown context 'param'", self.section('context = "param"'))
        self.refused("there is no in operand 'context'", self.section('context = "param:context"'))
        self.refused(
            "there is no out operand 'size'",
            self.section('context = "out:size"\noperands = ["size=bytesize : size"]'),
        )
        self.refused(
            "the role of 'size' is size, not context",
            self.section('context = "param:size"\noperands = ["size=bytesize : size"]'),
        )

    def test_no_toml(self):
        self.refused("semantics.toml", "[cuMemAllocAsync\n")


class EntriesTest(TableTest):
    def test_columns(self):
        self.refused("entries.tsv:1: the columns must be symbol base", header="symbol\tbase\n")

    def test_missing_field(self):
        self.refused("entries.tsv:2: 3 fields in place of 9", entries="cuInit\tcuInit\t-\n")

    def test_no_number(self):
        self.refused(
            "entries.tsv:2: since 'new' is not a number", entries=ALLOC.replace("11020", "new")
        )

    def test_stream_kind(self):
        self.refused("stream_kind must be one of", entries=TWIN.replace("\tptsz\t", "\tptss\t"))

    def test_twice(self):
        self.refused("entries.tsv:3: cuMemAllocAsync is there twice", entries=ALLOC + ALLOC)

    def test_twin_with_other_parameters(self):
        self.refused(
            "cuMemAllocAsync_ptsz has 2 parameters, cuMemAllocAsync has 3",
            entries=ALLOC + TWIN.replace(";CUstream|stream", ""),
        )


class NamesTest(TableTest):
    def names(self, line):
        with tempfile.NamedTemporaryFile("w", suffix=".tsv") as file:
            file.write("\t".join(table.NAME_COLUMNS) + "\n" + line)
            file.flush()
            return table.load_names(self.load(""), file.name)

    def test_good(self):
        self.assertEqual(
            self.names("cuMemAllocAsync\t12000\tcuCtxDestroy_v2\twhy\n"),
            [("cuMemAllocAsync", 12000, "cuCtxDestroy_v2")],
        )

    def test_unknown_symbol(self):
        with self.assertRaisesRegex(table.TableError, "cuNew is not an entry of the driver"):
            self.names("cuMemAllocAsync\t12000\tcuNew\twhy\n")


class RealTableTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.rows = {row.symbol: row for row in table.load()}

    def test_entries_with_32_bit_addresses_are_passed_through(self):
        for row in self.rows.values():
            if any("CUdeviceptr_v1" in kind for kind, _ in row.params):
                self.assertEqual(row.cls, "pass", row.symbol)
        for symbol in (
            "cuMemAlloc",
            "cuMemFree",
            "cuMemAllocPitch",
            "cuMemAllocHost",
            "cuArrayCreate",
            "cuArray3DCreate",
            "cuMemGetInfo",
        ):
            self.assertEqual(self.rows[symbol].cls, "pass", symbol)

    def test_launches_and_copies_are_passed_through(self):
        for symbol, row in self.rows.items():
            if symbol.startswith(("cuLaunch", "cuMemcpy", "cuMemset")):
                self.assertEqual(row.cls, "pass", symbol)

    def test_the_names_that_the_runtime_asks_for(self):
        for symbol in (
            "cuDevicePrimaryCtxReset",
            "cuDevicePrimaryCtxRelease",
            "cuIpcOpenMemHandle",
        ):
            self.assertEqual(self.rows[symbol].cls, "record", symbol)

    def test_whatever_ends_an_address_says_so_beforehand(self):
        for symbol in (
            "cuMemFree_v2",
            "cuMemFreeAsync_ptsz",
            "cuMemFreeHost",
            "cuMemUnmap",
            "cuMemRelease",
            "cuMemAddressFree",
            "cuIpcCloseMemHandle",
            "cuCtxDestroy_v2",
            "cuArrayDestroy",
            "cuDevicePrimaryCtxReset",
            "cuModuleUnload",
            "cuGraphExecDestroy",
        ):
            self.assertTrue(self.rows[symbol].intent, symbol)

    def test_the_ids_of_verbs_kinds_and_roles_are_those_of_the_format(self):
        text = (ROOT / "trace" / "format.h").read_text()
        for enum, words in (
            ("Verb", table.VERBS),
            ("ObjectKind", table.KINDS),
            ("Role", table.ROLES),
        ):
            body = text.partition(f"enum class {enum} ")[2].partition("};")[0].partition("{")[2]
            names = [item.partition("=")[0].strip() for item in body.split(",") if item.strip()]
            camel = ["k" + "".join(p.capitalize() for p in word.split("_")) for word in words]
            self.assertEqual([n for n in names if n.startswith("k")], camel, enum)


if __name__ == "__main__":
    unittest.main()

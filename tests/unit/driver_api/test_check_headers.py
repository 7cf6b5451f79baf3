# SPDX-License-Identifier: Apache-2.0
"""That the check of the table against the headers fails where it must, and says why."""
import dataclasses
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "driver_api"), str(ROOT / "tests" / "driver_api")]
import check_headers  # noqa: E402
import table  # noqa: E402

FREE = table.Row(
    symbol="cuMemFree_v2",
    base="cuMemFree",
    suffix="_v2",
    stream_kind="",
    since=3020,
    first=11080,
    last=13050,
    header="cuda.h",
    params=(("CUdeviceptr", "dptr"),),
)
DECLARED = {"cuMemFree_v2": ("cuda.h", [("CUdeviceptr", "dptr")], 3020)}


class CompareTest(unittest.TestCase):
    def lines(self, declared=DECLARED, version=12090, aliases=None, **changes):
        row = dataclasses.replace(FREE, **changes)
        return check_headers.compare([row], version, declared, aliases or {})

    def test_the_same(self):
        self.assertEqual(self.lines(), [])

    def test_an_entry_that_the_table_does_not_know(self):
        new = {**DECLARED, "cuMemNew": ("cuda.h", [], 14000)}
        self.assertEqual(self.lines(new), ["CUDA 12.9: cuMemNew is not in the table"])

    def test_an_entry_that_the_headers_do_not_know(self):
        self.assertEqual(
            self.lines({}), ["CUDA 12.9: cuMemFree_v2 is in the table, but not in the headers"]
        )

    def test_an_entry_of_other_versions(self):
        self.assertEqual(
            self.lines(first=13000),
            ["CUDA 12.9: cuMemFree_v2 is there, but the table says CUDA 13.0 to CUDA 13.5"],
        )
        self.assertEqual(self.lines({}, first=13000), [])

    def test_another_version(self):
        self.assertEqual(
            self.lines(since=2000), ["CUDA 12.9: cuMemFree_v2 has version 3020, in the table 2000"]
        )

    def test_another_type(self):
        self.assertEqual(
            self.lines(params=(("CUdeviceptr_v1", "dptr"),)),
            ["CUDA 12.9: cuMemFree_v2 takes (CUdeviceptr), in the table (CUdeviceptr_v1)"],
        )

    def test_another_number_of_parameters(self):
        self.assertEqual(
            self.lines(params=()), ["CUDA 12.9: cuMemFree_v2 takes (CUdeviceptr), in the table ()"]
        )

    def test_another_header(self):
        self.assertEqual(
            self.lines(header="cudaGL.h"),
            ["CUDA 12.9: cuMemFree_v2 is declared in cuda.h, in the table in cudaGL.h"],
        )

    def test_another_name_of_the_same_type(self):
        same = (("const CUdeviceptr_v2 *", "dptr"),)
        declared = {"cuMemFree_v2": ("cuda.h", [("const CUdeviceptr *", "dptr")], 3020)}
        aliases = {"CUdeviceptr": "CUdeviceptr_v2", "CUdeviceptr_v2": "unsigned long long"}
        self.assertEqual(self.lines(declared, aliases=aliases, params=same), [])
        self.assertEqual(len(self.lines(declared, params=same)), 1)

    def test_names_that_stand_for_another_entry(self):
        names = [("cuGraphInstantiate", 12000, "cuGraphInstantiateWithFlags")]
        stands_for = {"cuGraphInstantiate": "cuGraphInstantiateWithFlags"}
        self.assertEqual(check_headers.check_names(names, 12090, stands_for), [])
        self.assertEqual(check_headers.check_names(names, 11080, {}), [])
        self.assertEqual(len(check_headers.check_names([], 12090, stands_for)), 1)
        self.assertEqual(len(check_headers.check_names(names, 11080, stands_for)), 1)
        self.assertEqual(len(check_headers.check_names(names, 12090, {})), 1)


if __name__ == "__main__":
    unittest.main()

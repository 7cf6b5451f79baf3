# SPDX-License-Identifier: Apache-2.0
"""The JSON output of every command is as docs/schema says."""
import json
import unittest
from pathlib import Path

import jsonschema
import referencing

import traces

SCHEMAS = Path(__file__).resolve().parents[3] / "docs/schema"


class SchemaTest(traces.TraceTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        documents = [json.loads(file.read_text()) for file in sorted(SCHEMAS.glob("*.json"))]
        for document in documents:
            jsonschema.Draft202012Validator.check_schema(document)
        registry = referencing.Registry().with_resources(
            (document["$id"], referencing.Resource.from_contents(document)) for document in documents)
        cls.validators = {document["$id"]: jsonschema.Draft202012Validator(document, registry=registry)
                          for document in documents}
        cls.killed = cls.path / "killed.gputrace"
        traces.trace(cls.killed, "exits", "abort", check=False)

    def check(self, command, document):
        self.validators[f"gputrace.{command}.1.json"].validate(document)

    def test_commands(self):
        for command in ("info", "summary", "live", "peak", "timeline", "leaks"):
            for file in (*(self.of(name) for name in traces.FAMILIES), self.traces, self.killed):
                with self.subTest(command=command, file=file.name):
                    document = self.json(command, file)
                    self.assertEqual(document["schema"], f"gputrace.{command}/1")
                    self.check(command, document)

    def test_without_symbols(self):
        for command in ("summary", "peak", "leaks"):
            self.check(command, self.json(command, "--no-symbols", self.of("linear")))

    def test_by_library(self):
        for command in ("summary", "peak", "live"):
            self.check(command, self.json(command, "--by", "library", self.of("pools")))

    def test_all_kinds(self):
        for command in ("summary", "peak", "live", "timeline", "leaks"):
            self.check(command, self.json(command, "--kind", "all", self.of("virtual")))

    def test_dump(self):
        for name in traces.FAMILIES:
            lines = self.read("dump", "--json", "--native", self.of(name)).splitlines()
            self.assertEqual(len(lines), len(self.read("dump", "--json", self.of(name)).splitlines()))
            for line in lines:
                self.check("dump", json.loads(line))

    def test_separate_traces_are_documents_of_their_own(self):
        text = self.read("summary", "--json", "--separate", self.traces)
        decoder = json.JSONDecoder()
        count = 0
        while text.strip():
            document, end = decoder.raw_decode(text.lstrip())
            text = text.lstrip()[end:]
            self.check("summary", document)
            count += 1
        self.assertEqual(count, len(traces.FAMILIES))

    def test_repair(self):
        document = self.json("repair", self.killed, "-o", self.path / "repaired.gputrace")
        self.check("repair", document)
        self.assertTrue(document["repaired"][0]["changed"])
        self.check("summary", self.json("summary", self.path / "repaired.gputrace"))


if __name__ == "__main__":
    unittest.main()

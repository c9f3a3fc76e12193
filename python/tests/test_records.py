"""Typed records, their generator, and results."""

import dataclasses
import importlib.util
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from common import ROOT, assay
from assay.records import RecordFile

GENERATOR = ROOT / "tools" / "generate_python_records.py"
SCHEMA = ROOT / "docs" / "record.schema.json"


def generate(schema, *more):
    command = [sys.executable, str(GENERATOR), str(schema), *map(str, more)]
    return subprocess.run(command, capture_output=True, text=True)


def module_of(schema):
    """The module that the generator makes of a schema."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "schema.json"
        file.write_text(json.dumps(schema))
        made = generate(file)
    assert made.returncode == 0, made.stderr
    module = type(sys)("made_records")
    sys.modules["made_records"] = module
    exec(compile(made.stdout, "made_records", "exec"), module.__dict__)
    return module


class Generated(unittest.TestCase):
    @unittest.skipUnless(GENERATOR.exists(), "not in the source tree")
    def test_the_module_is_what_the_schema_says(self):
        checked = generate(SCHEMA, "--check", ROOT / "python" / "assay" / "records.py")
        self.assertEqual(checked.returncode, 0, checked.stdout)

    @unittest.skipUnless(GENERATOR.exists(), "not in the source tree")
    def test_a_field_of_any_kind_may_be_added(self):
        schema = json.loads(SCHEMA.read_text())
        more = {
            "from": {"type": ["string", "null"], "description": 'A "quoted" \\ word.'},
            "engine_settings": {"type": "object"},
            "peer": {"type": "object", "properties": {"version": {"type": "string"}}},
            "histories": {"type": "array", "items": {"type": "object", "properties": {"at": {"type": "number"}}}},
            "choice": {"type": "string", "enum": ["x" * 30 + str(i) for i in range(9)]},
        }
        schema["properties"]["records"]["items"]["properties"].update(more)
        made = module_of(schema)
        record = made.Record.from_json(
            {"from": "a", "peer": {"version": "1"}, "histories": [{"at": 2.5}], "engine_settings": {"k": 1}, "later": 7}
        )
        self.assertEqual((record.from_, record.peer.version, record.histories[0].at), ("a", "1", 2.5))
        self.assertEqual((record.engine_settings, record.extra), ({"k": 1}, {"later": 7}))
        self.assertEqual(record.to_json()["from"], "a")

    def test_every_property_is_a_field_with_its_meaning(self):
        properties = json.loads(SCHEMA.read_text())["properties"]["records"]["items"]["properties"]
        names = [one.name for one in dataclasses.fields(assay.Record)]
        self.assertEqual(names, [*properties, "extra"])

    def test_json_comes_back_as_it_was(self):
        row = assay.LedgerRow().to_json() | {"path": "layers.0", "operand": "bf16"}
        self.assertNotIn("weight_kept", row, "only of what reads a matrix")
        record = assay.Record().to_json() | {"model": "m", "raw_ms": [1.5], "ledger": [row], "unheard_of": [1]}
        document = {"schema": "assay-records-1", "machine": {}, "records": [record], "findings": []}
        self.assertEqual(RecordFile.from_json(document).to_json(), document)


DOCUMENT = {
    "schema": "assay-memory-1",
    "origin": {"date": "2026-01-02", "command": "assay memory", "commit": "abc", "seal": None},
    "plan": {"rows": [{"part": "weights", "bytes": 12}, {"part": "buffers", "bytes": 3, "by.name": [{"x": 1}]}]},
    "asked": {"batch": 1},
    "document": {
        "tables": [
            {"key": "plan.rows", "caption": "What is needed", "columns": [{"key": "part"}, {"key": "bytes"}]},
            {"key": "asked", "columns": [{"key": "batch"}]},
            {"key": "plan.rows.1.by~1name", "columns": [{"key": "x"}]},
            {"key": "absent", "columns": []},
        ]
    },
}


class Results(unittest.TestCase):
    def result(self):
        return assay.Result(json.dumps(DOCUMENT).encode())

    def test_what_was_generated_is_shown_as_text(self):
        generated = {"sequences": [[1, 2], [3]], "text": [" a <b>", "c"], "token_ms": [0.5]}
        result = assay.Result(json.dumps(generated).encode())
        self.assertEqual(str(result), " a <b>\nc")
        self.assertIn("a &lt;b&gt;", result._repr_html_())

    def test_tables_are_found_where_they_stand(self):
        tables = self.result().tables
        self.assertEqual(list(tables), ["plan.rows", "asked", "plan.rows.1.by~1name", "absent"])
        self.assertEqual(tables["plan.rows.1.by~1name"].rows, [{"x": 1}])
        self.assertEqual([row["bytes"] for row in tables["plan.rows"]], [12, 3])
        self.assertEqual(tables["asked"].rows, [{"batch": 1}])
        self.assertEqual(len(tables["absent"]), 0)
        self.assertEqual(self.result().records, [])
        self.assertEqual(self.result().origin.commit, "abc")

    def test_a_file_that_is_broken_is_the_users(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "x.json"
            for text, member in [
                ("", None),
                ("no JSON", None),
                ("{}", None),
                ('{"records": [', None),
                ("[" * 200_000, None),
                ('{"records": [1, null]}', "records"),
                ('{"records": [{"ledger": 5}]}', "records"),
                ('{"records": 7}', "records"),
                ('{"findings": 7}', "findings"),
                ('{"origin": "x"}', "origin"),
                ('{"document": {"tables": [{}]}}', "tables"),
                ('{"document": {"tables": [{"key": "a"}]}, "a": 5}', "tables"),
            ]:
                file.write_text(text)
                with self.subTest(text=text[:40]), self.assertRaisesRegex(assay.UserError, "x.json: "):
                    getattr(assay.Result.load(file), member or "data")

    def test_a_saved_result_is_loaded_as_it_was(self):
        with tempfile.TemporaryDirectory() as folder:
            self.result().save(Path(folder) / "x.json")
            self.assertEqual(assay.Result.load(Path(folder) / "x.json").data, DOCUMENT)

    def test_data_frames_have_a_row_each_or_words_why_not(self):
        if importlib.util.find_spec("pandas") is None:
            with self.assertRaisesRegex(ImportError, "pip install pandas"):
                self.result().to_pandas()
            return
        self.assertEqual(list(self.result().to_pandas()["bytes"]), [12, 3])
        self.assertEqual(list(self.result().to_pandas("asked")["batch"]), [1])


class Phases(unittest.TestCase):
    def test_a_phase_is_timed_however_it_ends(self):
        with assay.measure("a phase", items=3) as phase:
            pass
        with self.assertRaises(LookupError), assay.measure("a phase"):
            raise LookupError
        self.assertEqual(len(phase.times_ms), 2)
        self.assertEqual(phase.items, [3, None])
        self.assertIs(assay.phases()["a phase"], phase)
        self.assertGreaterEqual(phase.median_ms, 0)

    def test_a_device_is_waited_for_at_both_ends(self):
        waited = []
        with assay.measure("waits", wait=lambda: waited.append(1)):
            self.assertEqual(len(waited), 1)
        self.assertEqual(len(waited), 2)


if __name__ == "__main__":
    unittest.main()

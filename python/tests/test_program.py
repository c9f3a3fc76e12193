"""The module with the real program: what stands in its JSON arrives, typed."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path
from unittest import mock

from common import REAL_PROGRAM, ROOT, assay

MODEL = ROOT / "tests" / "fixtures" / "models" / "llama-tied.gguf"
QUICK = {"seq": 8, "rounds": 2, "processes": 1, "quality": "none"}


PYTHON = str(ROOT / "python")
LONG = f"90.0{os.getpid():010}"
LONG_LINE = f"sleep {LONG}; true"


def running_with(text):
    """The command lines that hold it, but for Python's."""
    lines = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            lines.append(file.read_text(errors="replace"))
    return [line for line in lines if text in line and not line.startswith(sys.executable)]


def sleeps():
    return any(line.startswith("sleep") for line in running_with(LONG))


def wait_until(holds, seconds=30):
    until = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > until:
            raise TimeoutError
        time.sleep(0.02)


@unittest.skipUnless(REAL_PROGRAM and Path(REAL_PROGRAM).exists(), "ASSAY_BINARY names no program")
@unittest.skipUnless(MODEL.exists(), "not in the source tree")
class Program(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        patch = mock.patch.dict(os.environ, {"XDG_DATA_HOME": str(cls.folder / "data")})
        patch.start()
        cls.addClassCleanup(patch.stop)
        cls.told = []
        cls.result = assay.bench(MODEL, precision=["fp32", "int8"], batch=[1, 2], progress=cls.told.append, **QUICK)

    def test_every_cell_is_a_record(self):
        cells = [(one.precision, one.batch, one.seq) for one in self.result.records]
        self.assertEqual(sorted(cells), sorted((p, b, 8) for p in ("fp32", "int8") for b in (1, 2)))
        for record in self.result.records:
            self.assertEqual((record.status, record.samples, len(record.raw_ms)), ("ok", 2, 2))
            self.assertEqual(record.extra, {}, "the schema has every field")
            self.assertGreater(record.median_ms, 0)
            self.assertIn("s8" if record.precision == "int8" else "f32", {row.operand for row in record.ledger})
        self.assertEqual([one.to_json() for one in self.result.records], self.result["records"])

    def test_ledgers_are_in_the_same_words_as_those_of_torch(self):
        ledger = assay.Ledger.of_record(self.result.records[0])
        self.assertGreater(ledger.summary().total(), 0)
        self.assertIn("linear", {row.operation for row in ledger})

    def test_progress_is_told(self):
        self.assertTrue(self.told)
        self.assertTrue(all(isinstance(one.text, str) and one.text for one in self.told))

    def test_the_page_is_the_reports(self):
        page = self.result._repr_html_()
        self.assertTrue(page.startswith("<iframe"))
        self.assertIn("&lt;svg", page)
        self.assertIn("int8", str(self.result))

    def test_a_saved_result_compares_with_itself(self):
        file = self.folder / "run.json"
        self.result.save(file)
        compared = assay.compare(file, file, fail_if_slower="3%")
        self.assertEqual(compared.exit_code, 0)
        self.assertTrue(compared.tables)
        self.assertEqual(assay.verify(file).exit_code, 0)

    def test_the_store_has_it_too_in_every_format(self):
        records = assay.export(precision="int8")["records"]
        self.assertEqual([one["batch"] for one in records], [1, 2])
        for option in ("jsonl", "sql", "otlp", "prometheus", "mlflow"):
            file = self.folder / option
            assay.export(**{option: file})
            self.assertGreater(file.stat().st_size, 100)

    def test_mistakes_have_the_programs_own_words(self):
        with self.assertRaisesRegex(assay.UserError, "no-such-option"):
            assay.bench(MODEL, no_such_option=1)
        with self.assertRaisesRegex(assay.UserError, "no_such_model"):
            assay.bench("no_such_model")

    def test_tables_of_studies_that_measure_no_record(self):
        self.assertGreater(len(assay.memory(MODEL, seq=8).tables["cells"]), 0)
        self.assertEqual(assay.check(ROOT / "examples" / "sound-table.md", device="A100", model="gpt2").exit_code, 0)
        self.assertEqual(assay.check(ROOT / "examples" / "doubtful-table.md").exit_code, 10)

    def test_any_program_is_measured(self):
        records = assay.measure_program(["true"], runs=2, quiet=True).records
        self.assertEqual([one.samples for one in records], [2])

    def test_whoever_is_killed_leaves_nothing_running(self):
        code = f"import assay; assay.measure_program(['sh', '-c', '{LONG_LINE}'], runs=9, quiet=True)"
        for by in (signal.SIGTERM, signal.SIGKILL):
            with self.subTest(by=by.name):
                process = subprocess.Popen([sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": PYTHON})
                wait_until(sleeps)
                process.send_signal(by)
                process.wait()
                wait_until(lambda: not running_with(LONG))

    def test_whoever_stops_listening_ends_it(self):
        listens, tells = os.pipe()
        started = []

        def start():
            words = [REAL_PROGRAM, "measure", "--runs", "9", "--store", "none", "--quiet", "--", "sh", "-c", LONG_LINE]
            told = {"ASSAY_PROGRESS_FD": str(tells), "ASSAY_PROGRESS_INODE": str(os.fstat(tells).st_ino)}
            nowhere = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            started.append(subprocess.Popen(words, env=os.environ | told, pass_fds=[tells], **nowhere))

        thread = threading.Thread(target=start)
        thread.start()
        thread.join()
        os.close(tells)
        wait_until(sleeps)
        self.assertIsNone(started[0].poll(), "which thread began it does not matter")
        os.close(listens)
        self.assertEqual(started[0].wait(30), 130)
        wait_until(lambda: not running_with(LONG))

    def test_text_and_lists_are_results_too(self):
        self.assertIn("rule", str(assay.findings().data))
        self.assertIn("distil", assay.study(list=True).text)

    def test_what_it_generated_is_loaded_as_it_was(self):
        file = self.folder / "text.json"
        (self.folder / "ids.json").write_text('{"input_ids": [[1, 2, 3]]}')
        told = assay.generate(MODEL, tokens=self.folder / "ids.json", new=2)
        told.save(file)
        self.assertEqual(assay.Result.load(file).data, told.data)

    def test_an_exception_of_progress_ends_what_is_measured(self):
        def refuse(_):
            wait_until(sleeps)
            raise LookupError("enough")

        with self.assertRaisesRegex(LookupError, "enough"):
            assay.measure_program(["sh", "-c", LONG_LINE], runs=9, quiet=True, progress=refuse)
        wait_until(lambda: not running_with(LONG))

    def test_ctrl_c_gives_what_there_is(self):
        # A background job of a shell has it ignored, and would measure for ever.
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))

        def interrupt(told):
            if not told.is_remark and "probing" not in told.text:
                os.kill(os.getpid(), signal.SIGINT)

        with self.assertRaises(assay.Interrupted) as caught:
            assay.bench(MODEL, precision="fp32", seq=8, rounds=10**6, quality="none", processes=1, progress=interrupt)
        self.assertEqual(caught.exception.result.exit_code, 130)
        self.assertIsInstance(caught.exception.result.records, list)


if __name__ == "__main__":
    unittest.main()

"""What the processes of peers make of the words that they are handed (src/studies/peers/workers), without any peer."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import common

WORKERS = common.ROOT / "src" / "studies" / "peers" / "workers"
PEER = """
from job import Refused, named

class Library:
    bfloat16 = "a dtype"

class Peer:
    def ran(self):
        return []

def open_training(job):
    named(Library, job.word("dtype"))
    assert job.word("cache") is None
    return Peer()
"""


class PeerWorkers(unittest.TestCase):
    def answer(self, words):
        """Of a worker whose peer trains, knows one dtype, and asks for no autocast."""
        job = {"model": "", "task": "language-model", "pooling": "mean", "words": words, "threads": 1, "logits": "all",
               "folder": "", "kept": "", "batches": "", "shapes": [], "training": {}}
        with tempfile.TemporaryDirectory() as folder:
            modules = {"numpy": "ndarray = object", "made_up_peer": PEER}
            # As in its own process: the worker, a peer's module beside it, and of numpy no more than is asked for here.
            files = {file.name: file.read_text() for file in WORKERS.glob("*.py")}
            files |= {f"{name}.py": text for name, text in modules.items()}
            for name, text in files.items():
                Path(folder, name).write_text(text)
            Path(folder, "job.json").write_text(json.dumps(job))
            question = json.dumps({"do": "prepare", "job": str(Path(folder, "job.json"))})
            ended = subprocess.run([sys.executable, "-E", "-s", str(Path(folder, "worker.py")), "made_up_peer"],
                                   input=question + "\n", capture_output=True, text=True, timeout=60)
        self.assertEqual(len(ended.stdout.splitlines()), 1, ended.stderr)
        return json.loads(ended.stdout)

    def test_the_told_word_is_found_in_the_library(self):
        self.assertEqual(self.answer({"dtype": "bfloat16"}), {"ran": []})

    def test_a_word_that_the_library_does_not_know_is_one_line(self):
        self.assertEqual(self.answer({"dtype": "bfloat17"}), {"refused": "has no bfloat17"})

    def test_a_word_that_no_worker_reads_is_refused(self):
        self.assertEqual(self.answer({"dtype": "bfloat16", "autocast": "float16", "quantised": "qint8"}),
                         {"refused": "cannot be told autocast float16, quantised qint8"})


if __name__ == "__main__":
    unittest.main()

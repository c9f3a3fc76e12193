"""OpenVINO token by token: the graph with states that openvino_cache.py makes, driven as OpenVINO's own pipeline does."""
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from openvino_run import compiled, hint_of, operations_of

import numpy as np
import openvino

from job import Refused, named


def graph_of(job):
    """Kept: each cell is a process of its own. The word is read by the process that converts, and counts as read here."""
    kept = job.kept / f"with-cache-{job.word('quantised') or 'whole'}.xml"
    if not kept.exists():
        made = job.folder / "with-cache.xml"
        convert(job, made)
        os.replace(made.with_suffix(".bin"), kept.with_suffix(".bin"))
        os.replace(made, kept)
    return openvino.Core().read_model(str(kept))


def convert(job, made):
    program = Path(__file__).parent / "openvino_cache.py"
    ended = subprocess.run([sys.executable, "-E", "-s", str(program), str(job.folder / "job.json"), str(made)],
                           stdout=subprocess.PIPE, text=True)
    last = (ended.stdout.strip().splitlines() or [""])[-1]
    if last.startswith('{"refused"'):
        raise Refused(json.loads(last)["refused"])
    if ended.returncode != 0:
        raise Refused(f"could not convert the model: exit code {ended.returncode}")


class GeneratingPeer:
    """The prompt in pieces of as many ids as assay reads at once."""
    piece = 512

    def __init__(self, job):
        if job.task != "language-model":
            raise Refused(f"is not asked for {job.task}")
        self.tokens, self.ids = job.generation, job.batches[0].ids
        cache = named(openvino.Type, job.word("cache"))
        # No activations are rounded to s8 on the way, of which the executed graph would not tell.
        self.model = compiled(graph_of(job), hint_of(job), job.threads, KV_CACHE_PRECISION=cache,
                              DYNAMIC_QUANTIZATION_GROUP_SIZE=0)
        if int(self.model.get_property("DYNAMIC_QUANTIZATION_GROUP_SIZE")) != 0:
            raise Refused("rounds activations to s8 and cannot be told not to")
        self.request = self.model.create_infer_request()
        self.rows = np.arange(len(self.ids), dtype=np.int32)
        self.length = 0
        if self.tokens.depth > 0:
            self.read(0, self.tokens.depth)

    def step(self, ids):
        """The last ids' logits (rows, vocabulary)."""
        rows, count = ids.shape
        positions = np.broadcast_to(np.arange(self.length, self.length + count), (rows, count))
        answer = self.request.infer({"input_ids": np.ascontiguousarray(ids), "beam_idx": self.rows,
                                     "position_ids": np.ascontiguousarray(positions)}, share_inputs=True,
                                    share_outputs=True)
        self.length += count
        self.logits = answer["logits"][:, -1]
        return self.logits.argmax(-1)

    def read(self, begin, end):
        for first in range(begin, end, self.piece):
            following = self.step(self.ids[:, first:min(first + self.piece, end)])
        return following[:, None]

    def keep_first(self, tokens):
        """Outside of what is timed. A state is read and written whole: there is no shorter way."""
        if tokens == 0:
            self.request.reset_state()
        elif tokens < self.length:
            for state in self.request.query_state():
                state.state = openvino.Tensor(np.ascontiguousarray(state.state.data[:, :, :tokens]))
        self.length = tokens

    def prefill(self):
        self.keep_first(self.tokens.depth)
        begin = time.perf_counter()
        self.following = self.read(self.tokens.depth, self.tokens.depth + self.tokens.prompt)
        return time.perf_counter() - begin, int(self.following[0, 0])

    def decode(self):
        self.keep_first(self.tokens.depth + self.tokens.prompt)
        token_ms, following = [], self.following
        for _ in range(self.tokens.new):
            begin = time.perf_counter()
            following = self.step(following)[:, None]
            token_ms.append((time.perf_counter() - begin) * 1e3)
        return token_ms, int(following[0, 0])

    def is_finite(self):
        return bool(np.isfinite(self.logits).all())

    def ran(self):
        self.prefill()
        return operations_of(self.model)

    def ran_in_decode(self):
        self.keep_first(self.tokens.depth + self.tokens.prompt)
        self.step(self.following)
        return operations_of(self.model)

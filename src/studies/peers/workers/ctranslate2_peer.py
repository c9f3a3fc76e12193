"""CTranslate2: the model's folder converted, run in one of its compute types."""
import json
import shutil
import time
from pathlib import Path

import ctranslate2
import numpy as np
import transformers

from job import Operation, Refused


def save_tokenizer(vocabulary, folder):
    """The converter wants a tokenizer: one of made-up words serves, for only ids go in."""
    from tokenizers import Tokenizer, models
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "<|endoftext|>"][:vocabulary]
    words += [f"w{i}" for i in range(len(words), vocabulary)]
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="[UNK]", pad_token="[PAD]",
                                         bos_token="<|endoftext|>", eos_token="<|endoftext|>").save_pretrained(folder)


def converted(job):
    source, out = job.folder / "checkpoint", job.folder / "converted"
    source.mkdir(exist_ok=True)
    config = json.loads((Path(job.model) / "config.json").read_text())
    for file in Path(job.model).glob("*.safetensors*"):
        shutil.copyfile(file, source / file.name)
    (source / "config.json").write_text(json.dumps(config | {"dtype": "float32"}))
    save_tokenizer(config["vocab_size"], source)
    try:
        ctranslate2.converters.TransformersConverter(str(source)).convert(str(out), force=True)
    except ValueError as error:
        raise Refused(next(iter(str(error).splitlines()), "")[:160]) from error
    return out


class Ctranslate2Peer:
    def __init__(self, job):
        kind = job.word("dtype")
        known = ctranslate2.get_supported_compute_types("cpu")
        if kind not in known:
            raise Refused(f"has no {kind} on this processor (it has {', '.join(sorted(known))})")
        if job.task != "language-model":
            raise Refused(f"gives no logits of {job.task}: its encoders end before the head")
        if job.last_only and job.generation is None:
            raise Refused("gives the logits of every position, which is more work than asked")
        if job.has_types:
            raise Refused("takes no token types")
        self.job = job
        self.model = ctranslate2.Generator(str(converted(job)), device="cpu", compute_type=kind, inter_threads=1,
                                           intra_threads=job.threads)

    def take(self, batch):
        """What is padding behind a row's last real id is left out, by its lengths."""
        lengths = [batch.ids.shape[1]] * len(batch.ids) if batch.mask is None else batch.mask.sum(1).tolist()
        if batch.mask is not None and any(not row[:length].all() for row, length in zip(batch.mask, lengths)):
            raise Refused("takes no padding but behind a row")
        self.batch, self.lengths = batch, lengths
        self.rows = [row[:length].tolist() for row, length in zip(batch.ids, lengths)]

    def run(self):
        return self.model.forward_batch(self.rows)

    def logits(self, result):
        return np.asarray(result.to(ctranslate2.DataType.float32) if hasattr(result, "to") else result, np.float32)

    def ran(self):
        kind = self.model.compute_type
        operand = kind.partition("_")[0]  # int8_float32: products in the one, what lies between them in the other.
        return [Operation(f"compute type {kind}", operand, "linear", "", 1, "its own word")]


class GeneratingPeer:
    """It generates from a prompt that it reads anew in each turn, so that there is no depth."""

    def __init__(self, job):
        if job.generation.depth > 0:
            raise Refused("reads all tokens anew for each prompt: there is no depth before it")
        self.tokens = job.generation
        self.peer = Ctranslate2Peer(job)
        self.model = self.peer.model
        vocabulary = json.loads((job.folder / "converted" / "vocabulary.json").read_text())
        self.rows = [[vocabulary[index] for index in row] for row in job.batches[0].ids]

    def generate(self, count):
        """Moments in ms at the begin and after each token of the first row, and its last id."""
        marks, last = [time.perf_counter() * 1e3], []

        def note(step):
            if step.batch_id == 0:
                marks.append(time.perf_counter() * 1e3)
                last[:] = [step.token_id]
            return False
        self.model.generate_batch(self.rows, max_length=count, min_length=count, sampling_topk=1, end_token=[],
                                  include_prompt_in_result=False, callback=note, max_batch_size=0)
        return np.diff(marks).tolist(), last[0]

    def prefill(self):
        steps, chosen = self.generate(1)
        return steps[0] / 1e3, chosen

    def decode(self):
        steps, chosen = self.generate(self.tokens.new + 1)
        return steps[1:], chosen

    def ran(self):
        return self.peer.ran()

    def ran_in_decode(self):
        return self.peer.ran()

    def is_finite(self):
        """It gives ids alone: nothing is known."""
        return True


def open_generation(job):
    return GeneratingPeer(job)


def open_peer(job):
    return Ctranslate2Peer(job)

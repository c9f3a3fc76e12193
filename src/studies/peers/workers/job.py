"""What a worker is asked for: a model's folder, a precision in its library's own words, batches of ids with masks."""
import json
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np


class Refused(Exception):
    """A peer that cannot run what is asked, with the reason."""


@dataclass
class Batch:
    ids: np.ndarray  # (rows, length), int64
    mask: np.ndarray | None  # the same shape, 1 where the id is real; None: all are
    types: np.ndarray | None


@dataclass
class Operation:
    """Operations of one kind that ran. `kind`: linear, attention or other products."""
    operation: str
    operand: str
    kind: str = "linear"
    kernel: str = ""
    count: int = 1
    evidence: str = ""


class Job:
    def __init__(self, file):
        said = json.loads(Path(file).read_text())
        self.model, self.task, self.pooling = said["model"], said["task"], said["pooling"]
        self.words, self.asked, self.threads = said["words"], set(), said["threads"]
        self.last_only = said["logits"] == "last"
        self.folder, self.kept = Path(said["folder"]), Path(said["kept"])
        self.generation = SimpleNamespace(**said["generation"]) if "generation" in said else None
        self.training = SimpleNamespace(**said["training"]) if "training" in said else None
        self.batches = read_batches(said)
        self.calibration = read_batches(said["calibration"]) if "calibration" in said else []

    def word(self, what):
        """The library's own word for its dtype, autocast, quantised or cache; None: nothing is said of that."""
        self.asked.add(what)
        return self.words.get(what)

    def check_all_were_asked_for(self):
        """A word that no code has read would be one more that the peer seems to obey."""
        unread = [f"{what} {word}" for what, word in self.words.items() if what not in self.asked]
        if unread:
            raise Refused(f"cannot be told {', '.join(unread)}")

    @property
    def has_mask(self):
        return any(batch.mask is not None for batch in self.batches)

    @property
    def has_types(self):
        return any(batch.types is not None for batch in self.batches)


def named(library, word):
    """What the library calls so: of torch and "bfloat16" its dtype."""
    if not hasattr(library, word):
        raise Refused(f"has no {word}")
    return getattr(library, word)


def read_batches(said):
    return [read_batch(said["batches"], shape) for shape in said["shapes"]]


def read_batch(file, shape):
    rows, length = shape["rows"], shape["length"]
    count, offset = rows * length, shape["offset"]

    def part(dtype, is_there):
        nonlocal offset
        if not is_there:
            return None
        values = np.fromfile(file, dtype, count, offset=offset).astype(np.int64).reshape(rows, length)
        offset += count * np.dtype(dtype).itemsize
        return values
    return Batch(part("<i4", True), part("u1", shape["mask"]), part("<i4", shape["types"]))


def pooled(states, mask, pooling):
    """What of hidden states (rows, length, width) stands for each row, as assay's embeddings have it."""
    if pooling == "first":
        return states[:, 0]
    if mask is None:
        return states.mean(1)
    weights = mask[:, :, None].astype(states.dtype)
    return (states * weights).sum(1) / np.maximum(weights.sum(1), 1)

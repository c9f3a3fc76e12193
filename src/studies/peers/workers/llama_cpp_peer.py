"""llama.cpp by its C interface: a GGUF file of the asked precision, the key/value cache as it is told."""
import ctypes
import re
import time
from pathlib import Path

import llama_cpp as llama
import numpy as np

from job import Operation, Refused, named

PIECE = 512  # ids of a prompt that are read at once, as assay does
# ggml's numbers of types: their names, and of those that rows are multiplied in the dtype.
NAMES = {0: "F32", 1: "F16", 2: "Q4_0", 8: "Q8_0", 30: "BF16"}
OPERANDS = {0: "f32", 1: "f16", 8: "s8", 30: "bf16"}
LAYER = re.compile(r"(blk\.\d+\.(attn_(q|k|v|qkv|output)|ffn_(gate|up|down)\w*)|output)\.weight")


def library(name):
    folder = Path(llama.__file__).parent / "lib"
    return ctypes.CDLL(str(next(folder.glob(f"lib{name}.so*"))))


class TypeTraits(ctypes.Structure):
    """ggml_type_traits_cpu: what rows of a type are multiplied with."""
    _fields_ = [("from_float", ctypes.c_void_p), ("vec_dot", ctypes.c_void_p), ("vec_dot_type", ctypes.c_int),
                ("nrows", ctypes.c_int64)]


class FileParameters(ctypes.Structure):
    _fields_ = [("no_alloc", ctypes.c_bool), ("context", ctypes.c_void_p)]


def types_of_weights(path):
    """How many matrices of layers have each type of ggml. A head that shares the table of tokens is one more."""
    base = library("ggml-base")
    base.gguf_init_from_file.restype = ctypes.c_void_p
    base.gguf_init_from_file.argtypes = [ctypes.c_char_p, FileParameters]
    base.gguf_get_tensor_name.restype = ctypes.c_char_p
    file = ctypes.c_void_p(base.gguf_init_from_file(path.encode(), FileParameters(True, None)))
    base.gguf_get_n_tensors.restype = ctypes.c_int64
    found = {}
    for number in range(base.gguf_get_n_tensors(file)):
        index = ctypes.c_int64(number)
        found[base.gguf_get_tensor_name(file, index).decode()] = base.gguf_get_tensor_type(file, index)
    base.gguf_free(file)
    layers = [kind for name, kind in found.items() if LAYER.fullmatch(name)]
    if "output.weight" not in found:
        layers.append(found["token_embd.weight"])
    return {kind: layers.count(kind) for kind in layers}


def operations_of(path):
    cpu = library("ggml-cpu")
    cpu.ggml_get_type_traits_cpu.restype = ctypes.POINTER(TypeTraits)
    operations = []
    for kind, count in types_of_weights(path).items():
        other = cpu.ggml_get_type_traits_cpu(kind).contents.vec_dot_type
        name = NAMES.get(kind, f"type {kind}")
        operations.append(
            Operation(f"mul_mat of {name}", OPERANDS.get(other, ""), "linear", "", count, "ggml_type_traits_cpu"))
    return operations


class Context:
    """`rows` sequences of up to `capacity` ids, of which `at_once` are read by one call."""

    def __init__(self, model, job, rows, capacity, at_once):
        self.model, self.rows = model, rows
        settings = llama.llama_context_default_params()
        settings.n_ctx, settings.n_seq_max = capacity * rows, rows
        settings.n_batch = at_once * rows
        settings.n_ubatch = min(settings.n_batch, 2048)
        settings.n_threads = settings.n_threads_batch = job.threads
        settings.type_k = settings.type_v = named(llama, f"GGML_TYPE_{job.word('cache')}")
        self.context = llama.llama_init_from_model(model, settings)
        if not self.context:
            raise Refused("gives no context of that size")
        self.memory = llama.llama_get_memory(self.context)
        self.vocabulary = llama.llama_vocab_n_tokens(llama.llama_model_get_vocab(model))

    def batch_of(self, ids, position, all_logits=False):
        """(rows, ids) from `position` on, made outside of what is timed."""
        rows, length = ids.shape
        batch = llama.llama_batch_init(rows * length, 0, 1)
        batch.n_tokens = rows * length
        for row in range(rows):
            for place in range(length):
                entry = row * length + place
                batch.token[entry] = int(ids[row, place])
                batch.pos[entry] = position + place
                batch.n_seq_id[entry] = 1
                batch.seq_id[entry][0] = row
                batch.logits[entry] = all_logits or place + 1 == length
        return batch

    def read(self, batch):
        if llama.llama_decode(self.context, batch) != 0:
            raise RuntimeError("llama_decode failed")

    def logits(self, count):
        """Of the ids that asked for them, in their order."""
        return np.ctypeslib.as_array(llama.llama_get_logits(self.context), (count, self.vocabulary))

    def keep_first(self, position):
        for row in range(self.rows):
            llama.llama_memory_seq_rm(self.memory, row, position, -1)


def opened(job):
    llama.llama_backend_init()
    settings = llama.llama_model_default_params()
    model = llama.llama_model_load_from_file(job.model.encode(), settings)
    if not model:
        raise Refused("does not open the file")
    return model


class LlamaPeer:
    def __init__(self, job):
        if job.task != "language-model":
            raise Refused(f"is not asked for {job.task}")
        if job.has_types:
            raise Refused("takes no token types")
        self.job, self.model, self.contexts = job, opened(job), {}

    def take(self, batch):
        if batch.mask is not None and not batch.mask.all():
            raise Refused("takes no padding")
        rows, length = batch.ids.shape
        if (rows, length) not in self.contexts:
            self.contexts[rows, length] = Context(self.model, self.job, rows, length, length)
        self.context = self.contexts[rows, length]
        self.shape = (rows, length)
        self.batch = self.context.batch_of(batch.ids, 0, not self.job.last_only)

    def run(self):
        llama.llama_memory_clear(self.context.memory, False)
        self.context.read(self.batch)
        rows, length = self.shape
        if self.job.last_only:
            return self.context.logits(rows)
        return self.context.logits(rows * length).reshape(rows, length, -1)

    def logits(self, result):
        return result

    def ran(self):
        return operations_of(self.job.model)


class GeneratingPeer:
    def __init__(self, job):
        self.job, self.tokens = job, job.generation
        ids = job.batches[0].ids
        tokens = self.tokens
        self.context = Context(opened(job), job, len(ids), tokens.depth + tokens.prompt + tokens.new,
                               min(PIECE, tokens.depth + tokens.prompt))
        for batch in self.pieces(ids, 0, tokens.depth):
            self.context.read(batch)
        self.prompt = self.pieces(ids, tokens.depth, tokens.depth + tokens.prompt)
        self.one = self.context.batch_of(ids[:, :1], 0)

    def pieces(self, ids, begin, end):
        return [self.context.batch_of(ids[:, first:min(first + PIECE, end)], first)
                for first in range(begin, end, PIECE)]

    def chosen(self):
        self.last = self.context.logits(self.context.rows)
        return self.last.argmax(-1)

    def prefill(self):
        self.context.keep_first(self.tokens.depth)
        begin = time.perf_counter()
        for batch in self.prompt:
            self.context.read(batch)
        self.following = self.chosen()
        return time.perf_counter() - begin, int(self.following[0])

    def decode(self):
        position = self.tokens.depth + self.tokens.prompt
        self.context.keep_first(position)
        token_ms, following = [], self.following
        for step in range(self.tokens.new):
            begin = time.perf_counter()
            for row, chosen in enumerate(following):
                self.one.token[row], self.one.pos[row] = int(chosen), position + step
            self.context.read(self.one)
            following = self.chosen()
            token_ms.append((time.perf_counter() - begin) * 1e3)
        return token_ms, int(following[0])

    def is_finite(self):
        return bool(np.isfinite(self.last).all())

    def ran(self):
        return operations_of(self.job.model)

    def ran_in_decode(self):
        return self.ran()


def open_generation(job):
    return GeneratingPeer(job)


def open_peer(job):
    return LlamaPeer(job)

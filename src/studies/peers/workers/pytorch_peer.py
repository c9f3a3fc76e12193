"""PyTorch, eager."""
import contextlib
import functools
import time
from collections import Counter

import torch
import transformers
from torch.profiler import ProfilerActivity, profile

from job import Operation, Refused, named
from network import Network, input_tensors, open_model, settled, use_is_causal

DTYPES = {"float": "f32", "double": "f64", "c10::BFloat16": "bf16", "c10::Half": "f16", "signed char": "s8",
          "unsigned char": "u8", "c10::qint8": "s8", "c10::quint8": "u8"}
# aten's operations that multiply, and which of their inputs is multiplied.
PRODUCTS = {"aten::addmm": ("linear", 1), "aten::mm": ("linear", 0), "aten::bmm": ("attention", 0),
            "aten::baddbmm": ("attention", 1), "mkldnn::_linear_pointwise": ("linear", 0),
            "mkl::_mkl_linear": ("linear", 0), "aten::mkldnn_linear": ("linear", 0),
            "aten::_scaled_dot_product_flash_attention_for_cpu": ("attention", 0)}
QUANTISED = ("quantized::linear_dynamic", "quantized::linear_relu_dynamic")


def weights_dtype(job):
    return named(torch, job.word("dtype"))


def autocast_of(job):
    """What makes the context of a pass."""
    word = job.word("autocast")
    return contextlib.nullcontext if word is None else functools.partial(torch.autocast, "cpu", named(torch, word))


def quantised(model, dtype):
    """Every linear layer, its inputs quantised as they come."""
    if any(type(module).__name__ == "Conv1D" for module in model.modules()):
        raise Refused("transformers' Conv1D of this model escapes quantize_dynamic")
    try:
        from torch.ao.quantization import quantize_dynamic
    except ImportError as error:
        raise Refused("this PyTorch has no quantize_dynamic") from error
    return quantize_dynamic(model, {torch.nn.Linear}, dtype=dtype)


class EagerPeer:
    def __init__(self, job):
        self.job, self.autocast = job, autocast_of(job)
        model = open_model(job, weights_dtype(job))
        if job.word("quantised") is not None:
            model = quantised(model, named(torch, job.word("quantised")))
        self.network = self.made_ready(Network(job, model).eval())

    def made_ready(self, network):
        return network

    def take(self, batch):
        self.batch, self.inputs = batch, input_tensors(self.job, batch)

    def run(self):
        with torch.inference_mode(), self.autocast():
            return self.network(*self.inputs)

    def logits(self, result):
        return settled(self.job, self.batch, result.float().numpy())

    def ran(self):
        return operations_of(self.run)


def operations_of(run):
    """What PyTorch's own profiler saw: the operations that multiply, with the dtypes of their inputs."""
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as seen:
        run()
    found = Counter()
    for event in seen.events():
        for operation in products_of(event):
            found[operation] += 1
    return [Operation(name, operand, kind, "", count, "the dtypes of inputs in torch.profiler")
            for (name, operand, kind), count in found.most_common()]


def dtype_of(event, place):
    types = event.input_dtypes if hasattr(event, "input_dtypes") else []
    return DTYPES.get(types[place]) if place < len(types) else None


def products_of(event):
    """Of an event none or one."""
    if event.name in QUANTISED:
        yield event.name, "s8", "linear"
    if event.name not in PRODUCTS:
        return
    kind, place = PRODUCTS[event.name]
    dtype = dtype_of(event, place)
    if dtype is not None:
        yield event.name, dtype, kind


class GeneratingPeer:
    """By transformers' own cache; the prompt in pieces of as many ids as assay reads at once."""
    piece = 512

    def __init__(self, job):
        self.tokens = job.generation
        self.model = open_model(job, weights_dtype(job))
        self.ids = torch.from_numpy(job.batches[0].ids)
        self.cache = transformers.DynamicCache(config=self.model.config)
        if self.tokens.depth > 0:
            self.read(0, self.tokens.depth)
        self.following = None

    @torch.inference_mode()
    def step(self, ids):
        self.logits = self.model(ids, past_key_values=self.cache, use_cache=True, logits_to_keep=1).logits[:, -1]
        return self.logits

    def read(self, begin, end):
        for first in range(begin, end, self.piece):
            logits = self.step(self.ids[:, first:min(first + self.piece, end)])
        return logits.argmax(-1, keepdim=True)

    def keep_first(self, tokens):
        behind = self.cache.get_seq_length() - tokens
        if behind > 0:
            self.cache.crop(-behind)

    def prefill(self):
        self.keep_first(self.tokens.depth)
        begin = time.perf_counter()
        self.following = self.read(self.tokens.depth, self.tokens.depth + self.tokens.prompt)
        return time.perf_counter() - begin, int(self.following[0])

    def decode(self):
        self.keep_first(self.tokens.depth + self.tokens.prompt)
        token_ms, following = [], self.following
        for _ in range(self.tokens.new):
            begin = time.perf_counter()
            following = self.step(following).argmax(-1, keepdim=True)
            token_ms.append((time.perf_counter() - begin) * 1e3)
        return token_ms, int(following[0])

    def is_finite(self):
        return bool(torch.isfinite(self.logits).all())

    def ran(self):
        return operations_of(self.prefill)

    def ran_in_decode(self):
        self.keep_first(self.tokens.depth + self.tokens.prompt)
        return operations_of(lambda: self.step(self.following))


class TrainingPeer:
    """Steps on the one batch: the loss of the next id, of classifiers that of a class; no dropout; fused AdamW."""

    def __init__(self, job, made_ready=lambda model: model):
        if job.task not in ("language-model", "classification"):
            raise Refused(f"is not trained as {job.task}")
        self.job, self.autocast = job, autocast_of(job)
        self.model = open_model(job, weights_dtype(job))  # As for passes: no layer drops anything.
        if job.task == "language-model":
            use_is_causal(self.model)
        self.ids = torch.from_numpy(job.batches[0].ids)
        # Rows of ids predict what follows; which class a row is told makes no difference to the work.
        self.labels = self.ids if job.task == "language-model" else torch.zeros(len(self.ids), dtype=torch.long)
        self.loss_of = made_ready(self.forward)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=job.training.learning_rate,
                                           weight_decay=job.training.weight_decay, fused=True)
        self.step()

    def forward(self, ids, labels):
        options = {"use_cache": False} if self.job.task == "language-model" else {}
        return self.model(input_ids=ids, labels=labels, **options).loss

    def step(self):
        marks = [time.perf_counter()]
        with self.autocast():
            loss = self.loss_of(self.ids, self.labels)
        marks.append(time.perf_counter())
        loss.backward()
        marks.append(time.perf_counter())
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        marks.append(time.perf_counter())
        return [after - before for before, after in zip(marks, marks[1:])], float(loss)

    def ran(self):
        return operations_of(self.step)


def open_training(job):
    return TrainingPeer(job)


def open_generation(job):
    return GeneratingPeer(job)


def open_peer(job):
    return EagerPeer(job)

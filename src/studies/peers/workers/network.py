"""The model's folder as a PyTorch module, by transformers: ids, mask and token types in, logits out."""
import sys

import numpy as np
import torch
import transformers

from job import Refused, pooled

CLASSES = {"language-model": "AutoModelForCausalLM", "classification": "AutoModelForSequenceClassification",
           "token-classification": "AutoModelForTokenClassification", "masked-language-model": "AutoModelForMaskedLM",
           "embedding": "AutoModel"}


def open_model(job, dtype=torch.float32):
    transformers.logging.set_verbosity_error()
    if job.task not in CLASSES:
        raise Refused(f"no transformers class for {job.task}")
    torch.set_num_threads(job.threads)
    torch.set_float32_matmul_precision("highest")
    try:
        model = getattr(transformers, CLASSES[job.task]).from_pretrained(job.model, dtype=dtype,
                                                                         attn_implementation="sdpa")
    except (ValueError, KeyError, OSError) as error:
        first_line = next(iter(str(error).splitlines()), "")[:160]
        raise Refused(f"transformers does not open the model: {first_line}") from error
    return model.eval()


def use_is_causal(model):
    """Without padding a causal mask need not be a tensor: attention is told is_causal, which every peer's own fused
    attention understands and every exporter takes (building the mask is what they stumble over). Not where layers have
    windows."""
    config = model.config
    kinds = set(getattr(config, "layer_types", None) or ["full_attention"])
    if kinds != {"full_attention"} or getattr(config, "sliding_window", None):
        return
    module = sys.modules[type(model).__module__]
    if hasattr(module, "create_causal_mask"):
        module.create_causal_mask = lambda *_, **__: None


class Network(torch.nn.Module):
    """Without caches and dictionaries: what assay computes and what exporters like. Inputs in the order ids, mask, types,
    of which the job has some. Of embeddings the hidden states: they are pooled outside."""

    def __init__(self, job, model):
        super().__init__()
        self.model, self.names = model, input_names(job)
        self.options = {}
        if job.task == "language-model":
            self.options = {"use_cache": False, "logits_to_keep": 1 if job.last_only else 0}
            if not job.has_mask:
                use_is_causal(model)
        self.result = "last_hidden_state" if job.task == "embedding" else "logits"

    def forward(self, *inputs):
        return getattr(self.model(**dict(zip(self.names, inputs)), **self.options), self.result)


def input_names(job):
    names = ["input_ids"]
    if job.has_mask:
        names.append("attention_mask")
    if job.has_types:
        names.append("token_type_ids")
    return names


def input_arrays(job, batch):
    """As input_names has them."""
    arrays = [batch.ids]
    if job.has_mask:
        arrays.append(np.ones_like(batch.ids) if batch.mask is None else batch.mask)
    if job.has_types:
        arrays.append(np.zeros_like(batch.ids) if batch.types is None else batch.types)
    return [np.ascontiguousarray(array) for array in arrays]


def input_tensors(job, batch):
    return [torch.from_numpy(array) for array in input_arrays(job, batch)]


def settled(job, batch, values):
    """f32 logits, of embeddings the pooled states."""
    values = np.asarray(values, np.float32)
    return pooled(values, batch.mask, job.pooling) if job.task == "embedding" else values

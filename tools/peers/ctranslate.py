"""CTranslate2 as a peer. It wants a checkpoint folder with a tokenizer: one of made-up words serves, for only ids go in."""
import json
import tempfile
from pathlib import Path

import torch

from models import build
from refused import Refused

COMPUTE_TYPES = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16", "int8-dynamic": "int8_float32"}


def save_tokenizer(vocabulary, folder):
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "<|endoftext|>"]
    words += [f"w{i}" for i in range(len(words), vocabulary)]
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="[UNK]", pad_token="[PAD]", bos_token="<|endoftext|>",
                            eos_token="<|endoftext|>").save_pretrained(folder)


def convert(name, folder):
    import ctranslate2.converters
    module = build(name).model
    inner = getattr(module, "distilbert", module)
    source = Path(folder) / "checkpoint"
    inner.save_pretrained(source)
    save_tokenizer(inner.config.vocab_size, source)
    config = json.loads((source / "config.json").read_text())
    config["dtype"] = "float32"
    (source / "config.json").write_text(json.dumps(config))
    out = Path(folder) / "converted"
    ctranslate2.converters.TransformersConverter(str(source)).convert(str(out))
    return out


def ctranslate2(name, ids, precision):
    import ctranslate2 as ct2
    if name == "smollm2-135m":
        raise Refused("gives the logits of every position, which is more work than asked")
    if precision not in COMPUTE_TYPES:
        raise Refused("no such precision")
    kind = COMPUTE_TYPES[precision]
    if kind not in ct2.get_supported_compute_types("cpu"):
        raise Refused(f"no {kind} on this processor (it has {', '.join(sorted(ct2.get_supported_compute_types('cpu')))})")
    with tempfile.TemporaryDirectory() as folder:
        path = convert(name, folder)
        runner = ct2.Generator if name == "gpt2" else ct2.Encoder
        model = runner(str(path), device="cpu", compute_type=kind, inter_threads=1,
                       intra_threads=torch.get_num_threads())
    if model.compute_type != kind:
        raise Refused(f"was told {kind} and runs {model.compute_type}")
    rows = ids.tolist()
    return lambda: model.forward_batch(rows), f"compute type {model.compute_type}"

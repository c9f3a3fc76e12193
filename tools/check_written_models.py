#!/usr/bin/env python3
"""Reads what `assay quantize` writes with other programs and compares values.

Run it in an environment of its own with torch, transformers, safetensors, compressed-tensors and gguf:

    python3 tools/check_written_models.py build/release/assay

A small random Llama, written by transformers, goes through `assay quantize` in each row. Of a folder the compressed-tensors package
widens every weight, and transformers opens it; of a GGUF file the gguf package widens every tensor, through transformers. Both have to
give the values that `assay dump --precision fp32` computes with: logits within 2e-5 of the largest. Where a row quantises activations,
transformers does too, and only has to open the folder.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

import torch
from compressed_tensors.compressors import BaseCompressor
from compressed_tensors.quantization import QuantizationScheme
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

IDS = [[3, 17, 92, 5, 41, 60, 8, 77]]
TABLES = "@embedding=bf16,@head=bf16"
FOLDERS = [("fp32", ""), ("bf16", ""), ("fp16", ""), ("int8", TABLES), ("int8-weights", TABLES), ("int8-group", TABLES),
           ("int4-weights", TABLES), ("int4-weights-g128", TABLES), ("int4-weights-zp", TABLES), ("int4", TABLES), ("fp8", TABLES),
           ("bf16", "layers.0.*=int8,layers.1.mlp.*=int4-weights")]  # fmt: skip
PLAIN_INPUTS = ["fp32", "bf16", "fp16", "int8-weights", "int4-weights", "int4-weights-g128"]  # What transformers computes with is f32 then.
UNOPENED = ["int4-weights-zp"]  # transformers 5.23 expects zero points that compressed-tensors 0.20 did not pack, which it does.
FILES = ["fp32", "bf16", "fp16", "int8-group", "int4-weights", "int4-weights-g128", "int4-weights-min"]


def make_model(folder, tied):
    torch.manual_seed(7)
    config = LlamaConfig(vocab_size=96, hidden_size=128, intermediate_size=256, num_hidden_layers=2, num_attention_heads=4,
                         num_key_value_heads=2, max_position_embeddings=64, tie_word_embeddings=tied)  # fmt: skip
    LlamaForCausalLM(config).float().save_pretrained(folder)


def assay_logits(assay, model, scratch):
    tokens, out = scratch / "ids.json", scratch / "logits.safetensors"
    tokens.write_text(json.dumps({"input_ids": IDS}))
    subprocess.run([assay, "dump", model, "--tokens", tokens, "--precision", "fp32", "--out", out], check=True, stderr=subprocess.DEVNULL)
    return load_file(out)["logits"]


def logits_of(model):
    with torch.no_grad():
        return model(torch.tensor(IDS)).logits.float()


def module_scheme(quantisation, module):
    groups = quantisation["config_groups"].values()
    named = [group for group in groups if module in group["targets"]]
    return QuantizationScheme(**(named or list(groups))[0])


def widened_weights(folder):
    """Every weight of a folder in f32, codes by the package."""
    tensors = load_file(folder / "model.safetensors")
    quantisation = json.loads((folder / "config.json").read_text()).get("quantization_config")
    weights = {name: tensor.float() for name, tensor in tensors.items() if ".weight_" not in name}
    for name in [name for name in tensors if name.endswith(".weight_scale")]:
        module = name.removesuffix(".weight_scale")
        scheme = module_scheme(quantisation, module)
        parts = {key.removeprefix(module + "."): value for key, value in tensors.items() if key.startswith(module + ".weight")}
        parts["weight_scale"] = parts["weight_scale"].float()
        widened = BaseCompressor.load_from_registry(scheme.format).decompress(parts, scheme)
        weights[module + ".weight"] = widened["weight"].float()
    return weights


def compare(what, ours, theirs):
    difference = ((ours - theirs).abs().max() / theirs.abs().max()).item()
    print(f"{what:60} {difference:.1e}", flush=True)
    return difference <= 2e-5


def check_folder(assay, source, row, overrides, scratch):
    out = scratch / "written"
    more = ["--with", overrides] if overrides else []
    subprocess.run([assay, "quantize", source, "--precision", row, *more, "--out", out, "--overwrite"], check=True, stderr=subprocess.DEVNULL)
    weights = widened_weights(out)
    plain = AutoModelForCausalLM.from_pretrained(source, dtype=torch.float32)
    plain.load_state_dict(weights, strict=not plain.config.tie_word_embeddings)
    ours = assay_logits(assay, out, scratch)
    holds = compare(f"{row} {overrides}: compressed-tensors", ours, logits_of(plain))
    if row in UNOPENED:
        return holds
    opened = logits_of(AutoModelForCausalLM.from_pretrained(out, dtype=torch.float32))
    return holds and (row not in PLAIN_INPUTS or bool(overrides.count("int8,")) or compare(f"{row}: transformers", ours, opened))


def check_file(assay, source, row, scratch):
    out = scratch / "written.gguf"
    subprocess.run([assay, "quantize", source, "--precision", row, "--out", out, "--overwrite"], check=True, stderr=subprocess.DEVNULL)
    theirs = AutoModelForCausalLM.from_pretrained(scratch, gguf_file=out.name, dtype=torch.float32)
    return compare(f"{row}: gguf", assay_logits(assay, out, scratch), logits_of(theirs))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("assay", type=pathlib.Path)
    assay = parser.parse_args().assay.resolve()
    with tempfile.TemporaryDirectory() as place:
        scratch = pathlib.Path(place)
        results = []
        for tied in (False, True):
            source = scratch / f"tied-{tied}"
            make_model(source, tied)
            results += [check_folder(assay, source, row, overrides, scratch) for row, overrides in FOLDERS]
            results += [check_file(assay, source, row, scratch) for row in FILES]
    raise SystemExit(0 if all(results) else "values differ")


if __name__ == "__main__":
    main()

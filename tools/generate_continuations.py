#!/usr/bin/env python3
"""Writes cases/continued.json into the decoders of tests/fixtures/models: what transformers' generate adds to ragged
prompts, greedily and in f32.

Run it in an environment of its own with torch, transformers 5 and safetensors, behind generate_model_fixtures.py:

    python3 tools/generate_continuations.py tests/fixtures/models

"input_ids" and "attention_mask" are padded on the left, as the library wants them; "sequences" are the new ids of each
row, the one at which it ended included; "margins" say how far the chosen logit stands above the second: where that is
next to nothing, another sum may choose another id. "end_ids" come from the model's own continuations, so that rows end
at different lengths.
"""
import argparse
import json
import pathlib

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForImageTextToText

NEW = 10
# Of no use here: the library has no such family, or reads these weights with packages of their own alone.
LEFT_OUT = ("cs336", "gpt-oss-mxfp4", "llama-gptq")


def is_decoder(config):
    name = (config.architectures or [""])[0]
    return name.endswith(("ForCausalLM", "LMHeadModel", "ForConditionalGeneration"))


def loaded(folder, config):
    kind = AutoModelForImageTextToText if config.architectures[0].endswith("ForConditionalGeneration") else AutoModelForCausalLM
    text = config.get_text_config()
    eager = getattr(text, "attn_logit_softcapping", None) is not None or text.model_type == "gpt_oss"
    model = kind.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager" if eager else "sdpa").eval()
    if hasattr(model, "set_experts_implementation"):
        model.set_experts_implementation("eager")
    return model


def prompts(vocabulary, seed):
    """Three rows of up to 9 ids, padded with ids that mean nothing."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(0, vocabulary, (3, 9), generator=generator)
    mask = torch.ones(3, 9, dtype=torch.long)
    mask[0, :6], mask[2, :1] = 0, 0
    return ids, mask


def continued(model, ids, mask, end_ids):
    out = model.generate(ids, attention_mask=mask, max_new_tokens=NEW, do_sample=False, eos_token_id=end_ids, pad_token_id=0,
                         return_dict_in_generate=True, output_logits=True)  # fmt: skip
    sequences, margins = [], []
    for row in range(ids.shape[0]):
        new = out.sequences[row, ids.shape[1]:].tolist()
        length = next((i + 1 for i, one in enumerate(new) if one in (end_ids or [])), len(new))
        tops = [logits[row].double().topk(2).values for logits in out.logits[:length]]
        sequences.append(new[:length])
        margins.append([float(f"{float(top[0] - top[1]):.3g}") for top in tops])
    return sequences, margins


def ends_of(free):
    """Up to two ids at which rows end, none of them before its fourth new id; one that is nowhere where there is none."""
    first = {}
    for row in free:
        for one in row:
            first[one] = min(first.get(one, NEW), row.index(one))
    late = sorted((one for one, at in first.items() if at >= 3), key=lambda one: first[one])
    nowhere = next(one for one in range(NEW * len(free) + 1) if one not in first)
    return late[:2] or [nowhere]


def write_continuations(folder, seed):
    config = AutoConfig.from_pretrained(folder)
    if not is_decoder(config):
        return
    model = loaded(folder, config)
    ids, mask = prompts(config.get_text_config().vocab_size, seed)
    model.generation_config.eos_token_id = None
    free, _ = continued(model, ids, mask, None)
    end_ids = ends_of(free)
    sequences, margins = continued(model, ids, mask, end_ids)
    case = {"input_ids": ids.tolist(), "attention_mask": mask.tolist(), "end_ids": end_ids, "sequences": sequences,
            "margins": margins}  # fmt: skip
    (folder / "cases" / "continued.json").write_text(json.dumps(case) + "\n")
    print(folder.name, sequences)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    for seed, file in enumerate(sorted(parser.parse_args().folder.glob("*/config.json"))):
        if file.parent.name not in LEFT_OUT:
            write_continuations(file.parent, 1000 + seed)


if __name__ == "__main__":
    with torch.no_grad():
        main()

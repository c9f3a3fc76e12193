#!/usr/bin/env python3
"""Writes tests/fixtures/lora: adapters that PEFT saved beside models of tests/fixtures/models, and what it computes.

Run it in an environment with torch, transformers and peft:

    python3 tools/generate_lora_fixtures.py tests/fixtures/models tests/fixtures/lora

NAME/adapter_config.json, NAME/adapter_model.safetensors: as peft.PeftModel.save_pretrained leaves them, A and B drawn
at random. NAME/expected.safetensors, all f32: `logits` of the batch in the model's cases/plain.json, grad.<tensor of
adapter_model.safetensors> of its mean loss; for models with "steps", after.<tensor> and `losses` (5): five steps of
torch.optim.AdamW (lr 1e-2, the rest as it comes) on that batch, each loss taken before its update.
"""
import argparse
import json
import pathlib

import peft
import torch
from generate_training_fixtures import loss_of, open_model, tokens_of
from safetensors.torch import save_file

CASES = {
    "gpt2": dict(model="gpt2", steps=5, options=dict(r=4, lora_alpha=6, fan_in_fan_out=True)),
    "gpt2-all": dict(model="gpt2-untied", options=dict(r=3, lora_alpha=8, target_modules="all-linear",
                                                         use_rslora=True, fan_in_fan_out=True)),
    "llama": dict(model="llama-untied", options=dict(r=4, lora_alpha=8,
                                                     target_modules=["q_proj", "v_proj", "down_proj"],
                                                     rank_pattern={"v_proj": 2}, alpha_pattern={"down_proj": 3})),
    "gpt-neox": dict(model="gpt-neox", options=dict(r=2)),
    "bert-classifier": dict(model="bert-classifier", steps=5, options=dict(r=4, task_type="SEQ_CLS")),
}


def adapted(model, options, seed):
    """With adapters and heads that are not what they start as."""
    wrapped = peft.get_peft_model(model, peft.LoraConfig(**{"task_type": "CAUSAL_LM", **options}))
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in wrapped.named_parameters():
        if not parameter.requires_grad or "lora_" not in name:
            continue
        with torch.no_grad():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.2)
    return wrapped.eval()


def named(wrapped, tensors):
    """By the names in adapter_model.safetensors."""
    names = {name: name.replace(".default", "").replace(".modules_to_save", "") for name in tensors}
    return {names[name]: tensor.detach().clone().contiguous() for name, tensor in tensors.items()}


def trained(wrapped):
    return {name: parameter for name, parameter in wrapped.named_parameters() if parameter.requires_grad}


def write_case(models, out, name, case):
    folder = models / case["model"]
    model, run = open_model(folder)
    if model is None:
        from transformers import AutoModelForCausalLM

        model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
        run = lambda tokens: model(tokens["input_ids"], attention_mask=tokens["attention_mask"]).logits  # noqa: E731
    wrapped = adapted(model, case["options"], sum(name.encode()))
    wrapped.peft_config["default"].base_model_name_or_path = case["model"]
    wrapped.save_pretrained(out / name)
    for extra in (out / name).glob("README.md"):
        extra.unlink()
    tokens = tokens_of(folder / "cases" / "plain.json")
    logits = run(tokens)
    loss_of(model, logits, tokens).backward()
    expected = {"logits": logits.detach().contiguous()}
    gradients = {key: parameter.grad for key, parameter in trained(wrapped).items() if parameter.grad is not None}
    expected.update({"grad." + key: value for key, value in named(wrapped, gradients).items()})
    if "steps" in case:
        expected.update(after_steps(model, wrapped, run, tokens, case["steps"]))
    save_file(expected, out / name / "expected.safetensors")


def after_steps(model, wrapped, run, tokens, steps):
    wrapped.zero_grad()
    optimizer = torch.optim.AdamW(list(trained(wrapped).values()), lr=1e-2)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of(model, run(tokens), tokens)
        losses.append(loss.item())
        loss.backward()
        optimizer.step()
    after = {"after." + key: value for key, value in named(wrapped, trained(wrapped)).items()}
    return {**after, "losses": torch.tensor(losses, dtype=torch.float32)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    for name, case in CASES.items():
        write_case(arguments.models, arguments.out, name, case)


if __name__ == "__main__":
    main()

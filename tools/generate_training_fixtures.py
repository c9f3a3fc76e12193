#!/usr/bin/env python3
"""Adds to tests/fixtures/models what PyTorch's autograd and AdamW give for the models that are there.

Run it in the environment of generate_model_fixtures.py, after that:

    python3 tools/generate_training_fixtures.py tests/fixtures/models [NAME ...]

cases/NAME.grads.safetensors: grad.<parameter> of the case's mean loss, f32, named and shaped as in the checkpoint. Only
for cases without left padding, where the loss of a language model does not read a padded position. cs336 has also
cases/plain.adamw.safetensors: the parameters after five steps of torch.optim.AdamW (lr 1e-3, the rest as it comes) on
that one batch, and `losses` (5), each taken before its update. Models with experts have cases/plain.steps.json: the
losses of three such steps. gpt2 has cases/plain.groups.safetensors: the parameters after five steps with groups (lr
1e-3, weight decay 0.5; no decay of normalisations and biases; lr 5e-3 of the tables of tokens and positions), and
`losses`. transformers adds the router's loss of balance only where output_router_logits asks for it.
"""
import argparse
import json
import pathlib

import torch
import transformers
from generate_model_fixtures import Cs336, labelled_loss, labels_tokens, language_loss
from safetensors.torch import load_file, save_file

# What checkpoints call the experts of a layer: their list, and the parts of gate_up_proj and down_proj.
EXPERTS = {
    "mixtral": ("block_sparse_moe.experts", "w1", "w3", "w2"),
    "qwen3_moe": ("mlp.experts", "gate_proj", "up_proj", "down_proj"),
}

# Architectures; of the others their emitter is among these.
DECODERS = ("GPT2LMHeadModel", "LlamaForCausalLM", "GPTJForCausalLM", "FalconForCausalLM", "MixtralForCausalLM",
            "Qwen3MoeForCausalLM")  # fmt: skip
ENCODERS = ("BertForSequenceClassification", "DistilBertForSequenceClassification", "BertForTokenClassification",
            "BertForMaskedLM", "RobertaForMaskedLM", "ElectraForMaskedLM", "ModernBertForSequenceClassification",
            "ModernBertForTokenClassification", "ModernBertForMaskedLM", "DebertaV2ForSequenceClassification",
            "DebertaV2ForTokenClassification", "DebertaV2ForMaskedLM")  # fmt: skip
# Models that steps are taken of, beside those with experts.
STEPPED = ("bert-tokens", "deberta-tokens", "deberta-classifier")


def open_model(folder):
    """The model with f32 weights as stored and its forward; (None, None) where it has no loss."""
    config = json.loads((folder / "config.json").read_text())
    if config["model_type"] == "cs336":
        model = Cs336(config)
        model.load_state_dict(load_file(folder / "model.safetensors"))
        return model.eval(), lambda tokens: model(tokens["input_ids"], tokens["attention_mask"])
    name = config.get("architectures", [""])[0]
    if name not in DECODERS + ENCODERS:
        return None, None
    options = {"experts_implementation": "eager"} if config["model_type"] in EXPERTS else {}
    kind = getattr(transformers, name)
    model = kind.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager", **options).eval()

    def run(tokens):
        ids, mask = tokens["input_ids"], tokens["attention_mask"]
        arguments = {"input_ids": ids, "attention_mask": mask}
        if "token_type_ids" in tokens:
            arguments["token_type_ids"] = tokens["token_type_ids"]
        if name in DECODERS:
            arguments["position_ids"] = torch.arange(ids.shape[1]).expand_as(ids)
        return model(**arguments).logits

    return model, run


def tokens_of(file):
    tokens = {key: torch.tensor(value) for key, value in json.loads(file.read_text()).items()}
    tokens.setdefault("attention_mask", torch.ones_like(tokens["input_ids"]))
    return tokens


def loss_of(model, logits, tokens):
    is_next_token = logits.dim() == 3 and not labels_tokens(model)
    return language_loss(logits, tokens) if is_next_token else labelled_loss(logits, tokens["labels"])


def write_gradients(folder, model, run, stored):
    for case in ("plain", "right"):
        tokens = tokens_of(folder / "cases" / f"{case}.json")
        model.zero_grad()
        loss_of(model, run(tokens), tokens).backward()
        tensors = {}
        for name, parameter in model.named_parameters():
            if parameter.grad is None:
                continue
            for one, gradient in experts_apart(model, name, parameter.grad):
                tensors[f"grad.{as_stored(one, stored)}"] = gradient.contiguous()
        save_file(tensors, folder / "cases" / f"{case}.grads.safetensors")


def experts_apart(model, name, tensor):
    """The parts of a tensor under their names in the checkpoint: that of all experts of a layer is one in the model."""
    if tensor is None:
        return
    family = getattr(model, "config", None) and EXPERTS.get(model.config.model_type)
    if not family:
        yield name, tensor
        return
    experts, gate, up, down = family
    prefix, _, kind = name.partition("mlp.experts.")
    if not kind:
        yield name.replace("mlp.gate.", experts.rpartition(".")[0] + ".gate."), tensor
        return
    for expert, part in enumerate(tensor):
        rows = {"down_proj": [(down, part)], "gate_up_proj": list(zip((gate, up), part.chunk(2)))}[kind]
        for short, one in rows:
            yield f"{prefix}{experts}.{expert}.{short}.weight", one


def as_stored(name, stored):
    """A parameter's name in the file, which may lack the family's prefix."""
    if name in stored:
        return name
    short = name.split(".", 1)[1]
    assert short in stored, name
    return short


def take_steps(folder, model, run, count, optimizer=None):
    tokens = tokens_of(folder / "cases" / "plain.json")
    optimizer = optimizer or torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses = []
    for _ in range(count):
        optimizer.zero_grad()
        loss = loss_of(model, run(tokens), tokens)
        losses.append(loss.item())
        loss.backward()
        optimizer.step()
    return losses


def write_steps_of_groups(folder, model, run):
    named = dict(model.named_parameters())
    tables = [name for name in named if ".wte." in name or ".wpe." in name]
    undecayed = [name for name in named if ".ln_" in name or name.endswith(".bias")]
    rest = [name for name in named if name not in tables + undecayed]
    groups = [{"params": [named[name] for name in names], **more}
              for names, more in ((rest, {}), (undecayed, {"weight_decay": 0}), (tables, {"lr": 5e-3}))]  # fmt: skip
    losses = take_steps(folder, model, run, 5, torch.optim.AdamW(groups, lr=1e-3, weight_decay=0.5))
    tensors = {name: parameter.detach().clone() for name, parameter in named.items()}
    save_file({"losses": torch.tensor(losses), **tensors}, folder / "cases" / "plain.groups.safetensors")


def write_steps(folder, model, run):
    losses = take_steps(folder, model, run, 5)
    tensors = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    save_file({"losses": torch.tensor(losses), **tensors}, folder / "cases" / "plain.adamw.safetensors")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*", help="of the models; all without one")
    options = parser.parse_args()
    torch.set_num_threads(1)
    for folder in sorted(path for path in options.folder.iterdir() if path.is_dir()):
        if options.names and folder.name not in options.names:
            continue
        model, run = open_model(folder)
        if model is None:
            continue
        stored = {name for file in folder.glob("*.safetensors") for name in load_file(file)}
        write_gradients(folder, model, run, stored)
        if folder.name == "cs336":
            write_steps(folder, model, run)
        elif folder.name == "gpt2":
            write_steps_of_groups(folder, model, run)
        elif model.config.model_type in EXPERTS or folder.name in STEPPED:
            losses = take_steps(folder, model, run, 3)
            (folder / "cases" / "plain.steps.json").write_text(json.dumps({"losses": losses}) + "\n")
        print(folder.name)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Writes tests/fixtures/models: small random models of every family, and what transformers computes for them in f32.

Run it in an environment of its own with torch, transformers 5, safetensors and gguf:

    python3 tools/generate_model_fixtures.py tests/fixtures/models

A model is a folder that a checkpoint of its family could be; beside it, cases/NAME.json are tokens and
cases/NAME.safetensors is what they give: logits, loss, hidden.0 (embeddings) .. hidden.L (last block, before the final
norm). Padded positions hold what transformers leaves there; under left padding the loss of a language model reads one
of them a row (it predicts the first real token), and there PyTorch's fused attention gives zeros. Weights are far from
their usual initialisation (0.02), where a lost bias or a wrong mask would hardly show.
"""
import argparse
import copy
import json
import pathlib
import shutil
import tempfile

import torch
from safetensors.torch import load_file, save_file
from torch import nn
from torch.nn import functional as F
from transformers import (AutoConfig, AutoModel, AutoModelForCausalLM, AutoModelForImageTextToText, AutoModelForMaskedLM, AutoModelForSequenceClassification, AutoModelForTokenClassification, BertConfig, BertForSequenceClassification, BertModel, DistilBertConfig, DistilBertForMaskedLM,
                          DistilBertForSequenceClassification, DistilBertModel, GPT2Config, GPT2LMHeadModel, LlamaConfig,
                          LlamaForCausalLM)  # fmt: skip

VOCABULARY = 97
CONTEXT = 24


class Cs336Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x / torch.sqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight


class Cs336Attention(nn.Module):
    """Causal attention; columns 2i and 2i + 1 of a head turn together by position * theta^(-2i / head_dim)."""

    def __init__(self, config):
        super().__init__()
        self.heads, self.theta = config["num_heads"], config["rope_theta"]
        for name in ("q_proj", "k_proj", "v_proj", "output_proj"):
            setattr(self, name, nn.Linear(config["d_model"], config["d_model"], bias=False))

    def rotated(self, x):
        seq, width = x.shape[-2:]
        frequency = self.theta ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
        angle = torch.arange(seq, dtype=torch.float64)[:, None] * frequency
        turn = torch.polar(torch.ones_like(angle), angle).to(torch.complex64)
        pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], width // 2, 2).contiguous())
        return torch.view_as_real(pairs * turn).flatten(-2)

    def forward(self, x, mask):
        split = lambda y: y.unflatten(-1, (self.heads, -1)).transpose(1, 2)
        q, k, v = self.rotated(split(self.q_proj(x))), self.rotated(split(self.k_proj(x))), split(self.v_proj(x))
        seq = x.shape[1]
        visible = torch.ones(seq, seq, dtype=torch.bool).tril() & mask[:, None, None, :].bool()
        context = F.scaled_dot_product_attention(q, k, v, attn_mask=visible)
        return self.output_proj(context.transpose(1, 2).flatten(-2))


class Cs336Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.ln1, self.ln2 = Cs336Norm(config["d_model"]), Cs336Norm(config["d_model"])
        self.attn = Cs336Attention(config)
        self.ffn = nn.ModuleDict({
            "w1": nn.Linear(config["d_model"], config["d_ff"], bias=False),
            "w2": nn.Linear(config["d_ff"], config["d_model"], bias=False),
            "w3": nn.Linear(config["d_model"], config["d_ff"], bias=False),
        })  # fmt: skip

    def forward(self, x, mask):
        x = x + self.attn(self.ln1(x), mask)
        h = self.ln2(x)
        return x + self.ffn["w2"](F.silu(self.ffn["w1"](h)) * self.ffn["w3"](h))


class Cs336(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.token_embeddings = nn.Embedding(config["vocab_size"], config["d_model"])
        self.layers = nn.ModuleList(Cs336Block(config) for _ in range(config["num_layers"]))
        self.ln_final = Cs336Norm(config["d_model"])
        self.lm_head = nn.Linear(config["d_model"], config["vocab_size"], bias=False)

    def forward(self, ids, mask):
        x = self.token_embeddings(ids)
        for layer in self.layers:
            x = layer(x, mask)
        return self.lm_head(self.ln_final(x))


def randomise(model, seed, dtype):
    """Weights of visible size, rounded to how they will be stored."""
    gain_at_rest = 0.0 if getattr(model, "config", None) and model.config.model_type.startswith("gemma") else 1.0
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            vector = parameter.dim() == 1
            gain = vector and not name.endswith("bias")
            values = noise * (0.2 if vector else 1.3 / parameter.shape[-1] ** 0.5) + (gain_at_rest if gain else 0.0)
            if name.endswith("experts.down_proj"):
                values *= 0.15  # Few bits may choose another expert, which shall not decide the result.
            parameter.copy_(values.to(dtype).to(torch.float32))
    return model.eval()


class Into:
    """In the place of a module whose output is recorded: what enters this one."""

    def __init__(self, module):
        self.module = module


def recorded(model, modules, run):
    """What `run` gives, and the output of each of `modules`, as hidden.0, hidden.1, ..."""
    hidden, hooks = {}, []
    for index, module in enumerate(modules):
        if isinstance(module, Into):
            def enter(_, positional, named, index=index):
                hidden[f"hidden.{index}"] = (positional[0] if positional else named["hidden_states"]).detach().clone()
            hooks.append(module.module.register_forward_pre_hook(enter, with_kwargs=True))
            continue

        def keep(_, __, out, index=index):
            hidden[f"hidden.{index}"] = (out[0] if isinstance(out, tuple) else out).detach().clone()
        hooks.append(module.register_forward_hook(keep))
    with torch.no_grad():
        result = run()
    for hook in hooks:
        hook.remove()
    return result, hidden


def language_loss(logits, tokens):
    labels = tokens.get("labels")
    if labels is None:
        labels = tokens["input_ids"].masked_fill(tokens["attention_mask"] == 0, -100)
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten(), ignore_index=-100)


def labelled_loss(logits, labels):
    """Of classes a row, or a token, of which -100 does not count."""
    return F.cross_entropy(logits.flatten(0, -2), labels.flatten(), ignore_index=-100)


def labels_tokens(model):
    """Whether a token's label is its own, and not that of the token before."""
    return type(model).__name__.endswith(("ForTokenClassification", "ForMaskedLM"))


class Transformers:
    """A transformers model: how it is run, and which modules give the hidden states."""

    def __init__(self, model, base, embeddings, blocks, pools="mean"):
        self.model, self.base, self.modules, self.pools = model, base, [embeddings, *blocks], pools

    def outputs(self, tokens):
        ids, mask = tokens["input_ids"], tokens["attention_mask"]
        if self.model.config._attn_implementation == "eager" and "labels" not in tokens:
            unseen = (mask == 0) | (mask.roll(1, 1) == 0)  # Eager attention of a query without keys is arbitrary.
            tokens["labels"] = ids.masked_fill(unseen, -100)
        arguments = {"input_ids": ids, "attention_mask": mask}
        if "token_type_ids" in tokens:
            arguments["token_type_ids"] = tokens["token_type_ids"]
        if self.base in ("transformer", "model", "gpt_neox"):
            arguments["position_ids"] = torch.arange(ids.shape[1]).expand_as(ids)  # columns count, padding included
        out, hidden = recorded(self.model, self.modules, lambda: self.model(**arguments))
        if not hasattr(out, "logits"):
            weights = mask[..., None].float()
            pooled = (out.last_hidden_state * weights).sum(1) / weights.sum(1)
            return {"logits": out.last_hidden_state[:, 0] if self.pools == "cls" else pooled, **hidden}
        if labels_tokens(self.model):
            return {"logits": out.logits, "loss": labelled_loss(out.logits, tokens["labels"]), **hidden}
        if out.logits.dim() == 3:
            return {"logits": out.logits, "loss": language_loss(out.logits, tokens), **hidden}
        return {"logits": out.logits, "loss": F.cross_entropy(out.logits, tokens["labels"]), **hidden}


class OwnCs336:
    def __init__(self, model):
        self.model = model

    def outputs(self, tokens):
        modules = [self.model.token_embeddings, *self.model.layers]
        run = lambda: self.model(tokens["input_ids"], tokens["attention_mask"])
        logits, hidden = recorded(self.model, modules, run)
        return {"logits": logits, "loss": language_loss(logits, tokens), **hidden}


def cases(seed, labels, by_token=False, types=0, first_is_real=False):
    """plain: no mask; right: right padding and, for language models, labels of their own; left: left padding. `labels`:
    classes, one label a row or token; `types`: token types, of pairs; `first_is_real`: what would be left padding stands
    behind the first token."""
    generator = torch.Generator().manual_seed(seed)
    ids = lambda rows, seq: torch.randint(0, VOCABULARY, (rows, seq), generator=generator)
    right, left = torch.ones(3, 9, dtype=torch.long), torch.ones(2, 8, dtype=torch.long)
    right[1, 4:], right[2, 8:] = 0, 0
    first = 1 if first_is_real else 0
    left[0, first:5], left[1, first:first + 1] = 0, 0
    result = {
        "plain": {"input_ids": ids(2, 11), "attention_mask": torch.ones(2, 11, dtype=torch.long)},
        "right": {"input_ids": ids(3, 9), "attention_mask": right},
        "left": {"input_ids": ids(2, 8), "attention_mask": left},
    }
    for tokens in result.values():
        if types:
            tokens["token_type_ids"] = torch.randint(0, types, tokens["input_ids"].shape, generator=generator)
        if by_token:
            own = torch.randint(0, labels, tokens["input_ids"].shape, generator=generator)
            own[torch.rand(own.shape, generator=generator) < 0.4] = -100
            tokens["labels"] = own.masked_fill(tokens["attention_mask"] == 0, -100)
        elif labels:
            tokens["labels"] = torch.randint(0, labels, tokens["input_ids"].shape[:1], generator=generator)
    if labels == 0:
        own = ids(3, 9)
        own[torch.rand(3, 9, generator=generator) < 0.4] = -100
        own[right == 0] = -100
        result["right"]["labels"] = own
    return result


def write_cases(folder, run, seed, labels, **more):
    (folder / "cases").mkdir()
    for name, tokens in cases(seed, labels, **more).items():
        outputs = run.outputs(tokens)
        text = {key: value.tolist() for key, value in tokens.items() if not (name == "plain" and key == "attention_mask")}
        (folder / "cases" / f"{name}.json").write_text(json.dumps(text) + "\n")
        tensors = {key: value.to(torch.float32).contiguous() for key, value in outputs.items()}
        save_file(tensors, folder / "cases" / f"{name}.safetensors")


def stored(model, dtype, drop_prefix, extra):
    """The state dict as a checkpoint would hold it: a tied head once, 16 bits where asked."""
    state, seen = {}, set()
    for name, value in model.state_dict(keep_vars=True).items():
        if not isinstance(value, nn.Parameter) or id(value) in seen:
            continue
        seen.add(id(value))
        name = name[len(drop_prefix):] if name.startswith(drop_prefix) else name
        state[name] = value.detach().to(dtype).contiguous()
    return {**state, **extra}


def write_weights(folder, state, shards):
    if shards == 1:
        save_file(state, folder / "model.safetensors", metadata={"format": "pt"})
        return
    names, where = sorted(state), {}
    for shard in range(shards):
        file = f"model-{shard + 1:05d}-of-{shards:05d}.safetensors"
        part = names[shard::shards]
        save_file({name: state[name] for name in part}, folder / file, metadata={"format": "pt"})
        where.update({name: file for name in part})
    total = sum(value.numel() * value.element_size() for value in state.values())
    index = {"metadata": {"total_size": total}, "weight_map": where}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=1) + "\n")


def fresh(root, name):
    folder = root / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def write_model(root, name, model, places, *, seed, dtype=torch.float32, drop_prefix="", shards=1, labels=0, extra=None,
                published=False, quantise=None, types=0, first_is_real=False):  # fmt: skip
    """`published`: under the names with which the library saves, where those within the library are others. `quantise`:
    changes parameters to values that codes hold, and gives what is stored: None for those, and their codes."""
    folder = fresh(root, name)
    randomise(model, seed, dtype)
    coded = quantise(model) if quantise else {}
    model.config.architectures = [type(model).__name__]
    model.config.dtype = str(dtype).removeprefix("torch.")
    model.config.save_pretrained(folder)
    state = published_state(model, dtype) if published else stored(model, dtype, drop_prefix, extra or {})
    state = {key: value for key, value in {**state, **coded}.items() if value is not None}
    write_weights(folder, state, shards)
    write_cases(folder, Transformers(model, *places), seed + 1, labels, by_token=labels_tokens(model), types=types,
                first_is_real=first_is_real)  # fmt: skip
    return model


def gpt2(**settings):
    model = GPT2LMHeadModel(GPT2Config(vocab_size=VOCABULARY, n_positions=CONTEXT, n_layer=2, bos_token_id=0,
                                       eos_token_id=0, **settings))  # fmt: skip
    return model, ("transformer", model.transformer.drop, model.transformer.h)


def bert(kind, **settings):
    model = kind(BertConfig(vocab_size=VOCABULARY, max_position_embeddings=CONTEXT, num_hidden_layers=2, **settings))
    base = model if kind is BertModel else model.bert
    return model, ("bert", base.embeddings, base.encoder.layer)


def distilbert(kind, **settings):
    model = kind(DistilBertConfig(vocab_size=VOCABULARY, max_position_embeddings=CONTEXT, n_layers=2, **settings))
    base = model if kind is DistilBertModel else model.distilbert
    return model, ("distilbert", base.embeddings, base.transformer.layer)


def encoder(kind, model_type, **settings):
    """Any encoder that speaks BERT's words; `kind`: an auto class."""
    usual = {"vocab_size": VOCABULARY, "max_position_embeddings": CONTEXT, "num_hidden_layers": 2, "hidden_size": 40,
             "intermediate_size": 44, "num_attention_heads": 4}  # fmt: skip
    model = kind.from_config(AutoConfig.for_model(model_type, **{**usual, **settings}))
    base = model.base_model
    return model, (model.base_model_prefix, Into(base.encoder.layer[0]), base.encoder.layer)


def write_encoders(root):
    """Ids of padding are 1 in RoBERTa and 3 here: what padding holds in the cases is no padding to it."""
    classifier = AutoModelForSequenceClassification
    write_model(root, "roberta", *encoder(AutoModel, "roberta", max_position_embeddings=CONTEXT + 4, pad_token_id=3,
                type_vocab_size=1, layer_norm_eps=1e-5, add_pooling_layer=False), seed=230, drop_prefix="roberta.")  # fmt: skip
    write_model(root, "xlm-roberta-classifier", *encoder(classifier, "xlm-roberta", max_position_embeddings=CONTEXT + 2,
                type_vocab_size=1, num_labels=3), seed=235, labels=3, dtype=torch.float16)  # fmt: skip
    write_model(root, "electra-classifier", *encoder(classifier, "electra", embedding_size=28, num_labels=5), seed=240,
                labels=5)  # fmt: skip
    write_model(root, "opt", *opt(word_embed_proj_dim=40), seed=245, dtype=torch.float16)


def opt(**settings):
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(
        "opt", vocab_size=VOCABULARY, max_position_embeddings=CONTEXT, num_hidden_layers=2, hidden_size=40, ffn_dim=44,
        num_attention_heads=4, bos_token_id=0, eos_token_id=0, **settings))  # fmt: skip
    layers = model.model.decoder.layers
    return model, ("opt", Into(layers[0]), layers)


def image_reader(model_type, text, **settings):
    """A model of text and images, of which text alone is run."""
    usual = {"vocab_size": VOCABULARY, "max_position_embeddings": CONTEXT, "num_hidden_layers": 2, "hidden_size": 40,
             "intermediate_size": 44, "num_attention_heads": 4, "num_key_value_heads": 2, "bos_token_id": 0,
             "eos_token_id": 0, "pad_token_id": None}  # fmt: skip
    vision = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "image_size": 8,
              "patch_size": 4, **settings.pop("vision", {})}  # fmt: skip
    config = AutoConfig.for_model(model_type, text_config={**usual, **text}, vision_config=vision, **settings)
    model = AutoModelForImageTextToText.from_config(config)
    layers = model.model.language_model.layers
    return model, ("whole", Into(layers[0]), layers)


def write_image_readers(root):
    """Under the names with which the library saves; the second under those within it, which files have too."""
    write_model(root, "opt-after", *opt(do_layer_norm_before=False, word_embed_proj_dim=28), seed=630)
    write_model(root, "gemma3-images", *image_reader("gemma3", {"model_type": "gemma3_text", "head_dim": 14,
                "sliding_window": 4, "query_pre_attn_scalar": 20, "layer_types": ["sliding_attention", "full_attention"]},
                mm_tokens_per_image=4), seed=635, published=True)  # fmt: skip
    write_model(root, "mistral3-images", *image_reader("mistral3", {"model_type": "mistral", "head_dim": 14,
                "sliding_window": None}, vision={"head_dim": 4}), seed=640)  # fmt: skip
    write_model(root, "llava-images", *image_reader("llava", {"model_type": "llama"}, vision={
                "model_type": "clip_vision_model", "projection_dim": 8}), seed=645, dtype=torch.bfloat16, published=True)  # fmt: skip


def write_heads(root):
    """Heads of tokens and masked tokens, pairs of sentences, the first token's state as an embedding."""
    tokens, masked = AutoModelForTokenClassification, AutoModelForMaskedLM
    write_model(root, "bert-tokens", *encoder(tokens, "bert", hidden_size=36, num_labels=9), seed=400, labels=9)
    write_model(root, "xlm-roberta-tokens", *encoder(tokens, "xlm-roberta", max_position_embeddings=CONTEXT + 2,
                type_vocab_size=1, num_labels=5), seed=405, labels=5, dtype=torch.float16)  # fmt: skip
    write_model(root, "bert-masked", *encoder(masked, "bert", hidden_act="relu"), seed=410, labels=VOCABULARY, published=True)
    write_model(root, "roberta-masked", *encoder(masked, "roberta", max_position_embeddings=CONTEXT + 2, type_vocab_size=1,
                tie_word_embeddings=False), seed=415, labels=VOCABULARY, published=True)  # fmt: skip
    write_model(root, "roberta-masked-zero", *encoder(masked, "roberta", max_position_embeddings=CONTEXT + 1, pad_token_id=0,
                type_vocab_size=1), seed=630, labels=VOCABULARY, published=True)  # fmt: skip
    write_model(root, "electra-masked", *encoder(masked, "electra", embedding_size=28), seed=420, labels=VOCABULARY)
    model, (base, embeddings, blocks) = distilbert(DistilBertForMaskedLM, dim=40, n_heads=4, hidden_dim=44)
    write_model(root, "distilbert-masked", model, (base, embeddings, blocks), seed=425, labels=VOCABULARY,
                dtype=torch.bfloat16)  # fmt: skip
    write_model(root, "bert-pairs", *encoder(AutoModelForSequenceClassification, "bert", hidden_size=36, num_labels=3),
                seed=540, labels=3, types=2)  # fmt: skip
    model, places = encoder(AutoModel, "bert", add_pooling_layer=False)
    write_model(root, "bert-cls", model, (*places, "cls"), seed=435, drop_prefix="bert.")
    (root / "bert-cls" / "1_Pooling").mkdir()
    pooling = {"word_embedding_dimension": 40, "pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}
    (root / "bert-cls" / "1_Pooling" / "config.json").write_text(json.dumps(pooling, indent=2) + "\n")


def write_deberta(root):
    """v3's way, v2's, and one kind of scores each. A padded query's attention is arbitrary there, so that a classifier's
    first token must be real."""
    third = {"relative_attention": True, "position_buckets": 8, "norm_rel_ebd": "layer_norm", "share_att_key": True,
             "pos_att_type": "p2c|c2p", "position_biased_input": False, "type_vocab_size": 0}  # fmt: skip
    second = {"relative_attention": True, "pos_att_type": ["c2p"], "max_relative_positions": 7, "type_vocab_size": 2}
    write_model(root, "deberta", *encoder(AutoModel, "deberta-v2", **third), seed=600, drop_prefix="deberta.")
    file = root / "deberta" / "config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "pos_att_type": "p2c|c2p"}, indent=2) + "\n")
    write_model(root, "deberta-classifier", *encoder(AutoModelForSequenceClassification, "deberta-v2", **third,
                num_labels=3), seed=605, labels=3, dtype=torch.float16, first_is_real=True)  # fmt: skip
    write_model(root, "deberta-tokens", *encoder(AutoModelForTokenClassification, "deberta-v2", **{**third, "pos_att_type": [
        "p2c"], "share_att_key": False, "norm_rel_ebd": "none"}, hidden_size=36, num_labels=9), seed=610, labels=9)  # fmt: skip
    write_model(root, "deberta-masked", *encoder(AutoModelForMaskedLM, "deberta-v2", **second, embedding_size=28),
                seed=615, labels=VOCABULARY, types=2)  # fmt: skip
    write_model(root, "deberta-masked-own", *encoder(AutoModelForMaskedLM, "deberta-v2", **third, legacy=False), seed=620,
                labels=VOCABULARY, dtype=torch.bfloat16)  # fmt: skip


def modernbert(kind, **settings):
    usual = {"vocab_size": VOCABULARY, "max_position_embeddings": CONTEXT, "num_hidden_layers": 3, "hidden_size": 40,
             "intermediate_size": 44, "num_attention_heads": 4, "local_attention": 6, "pad_token_id": 3, "bos_token_id": 1,
             "eos_token_id": 2, "cls_token_id": 1, "sep_token_id": 2}  # fmt: skip
    model = kind.from_config(AutoConfig.for_model("modernbert", **{**usual, **settings}))
    base = model.base_model
    return model, ("modernbert", base.embeddings, base.layers)


def write_modernbert(root):
    """The second in the words of transformers 4; the third with all biases."""
    write_model(root, "modernbert-classifier", *modernbert(AutoModelForSequenceClassification, classifier_pooling="mean",
                num_labels=3), seed=440, labels=3)  # fmt: skip
    write_model(root, "modernbert-masked", *modernbert(AutoModelForMaskedLM, global_attn_every_n_layers=2,
                global_rope_theta=500.0, local_rope_theta=100.0), seed=500, labels=VOCABULARY, dtype=torch.bfloat16)  # fmt: skip
    file = root / "modernbert-masked" / "config.json"
    config = json.loads(file.read_text())
    for key in ("rope_parameters", "layer_types"):
        del config[key]
    file.write_text(json.dumps({**config, "global_attn_every_n_layers": 2, "global_rope_theta": 500.0,
                                "local_rope_theta": 100.0}, indent=2) + "\n")  # fmt: skip
    write_model(root, "modernbert-tokens", *modernbert(AutoModelForTokenClassification, norm_bias=True, attention_bias=True,
                mlp_bias=True, classifier_bias=True, num_labels=9, hidden_size=36, num_attention_heads=6,
                classifier_activation="silu"), seed=520, labels=9)  # fmt: skip
    write_model(root, "modernbert", *modernbert(AutoModel), seed=455, drop_prefix="model.")


def write_parallel_decoders(root):
    gptj = AutoModelForCausalLM.from_config(AutoConfig.for_model(
        "gptj", vocab_size=VOCABULARY, n_positions=CONTEXT, n_layer=2, n_embd=40, n_head=4, n_inner=44, rotary_dim=6,
        bos_token_id=0, eos_token_id=0))  # fmt: skip
    write_model(root, "gptj", gptj, ("transformer", gptj.transformer.drop, gptj.transformer.h), seed=460)
    usual = {"vocab_size": VOCABULARY, "max_position_embeddings": CONTEXT, "num_hidden_layers": 2, "hidden_size": 40,
             "num_attention_heads": 4, "ffn_hidden_size": 44, "bos_token_id": 0, "eos_token_id": 0}  # fmt: skip
    for name, seed, dtype, settings in (
        ("falcon", 465, torch.float32, {}),
        ("falcon-grouped", 470, torch.bfloat16, {"new_decoder_architecture": True, "num_kv_heads": 2,
                                                 "tie_word_embeddings": False}),
        ("falcon-serial", 475, torch.float32, {"multi_query": False, "parallel_attn": False, "bias": True}),
    ):  # fmt: skip
        model = AutoModelForCausalLM.from_config(AutoConfig.for_model("falcon", **usual, **settings))
        layers = model.transformer.h
        write_model(root, name, model, ("transformer", Into(layers[0]), layers), seed=seed, dtype=dtype)


def llama(**settings):
    model = LlamaForCausalLM(LlamaConfig(vocab_size=VOCABULARY, max_position_embeddings=CONTEXT, num_hidden_layers=2,
                                         **settings))  # fmt: skip
    return model, ("model", model.model.embed_tokens, model.model.layers)


def decoder(model_type, **settings):
    """Any family whose configuration speaks Llama's words."""
    usual = {"vocab_size": VOCABULARY, "max_position_embeddings": CONTEXT, "num_hidden_layers": 2, "bos_token_id": 0,
             "eos_token_id": 0, "pad_token_id": None}  # fmt: skip
    config = AutoConfig.for_model(model_type, **{**usual, **settings})
    eager = getattr(config, "attn_logit_softcapping", None) is not None or model_type == "gpt_oss"
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager" if eager else "sdpa")  # That caps none.
    if hasattr(model, "set_experts_implementation"):
        model.set_experts_implementation("eager")  # The other one wants widths that are multiples of 16 bytes.
    base = model.base_model
    return model, (model.base_model_prefix, Into(base.layers[0]), base.layers)


def write_decoders(root):
    """Families with Llama's emitter; each with what is its own, and one way to stretch positions."""
    small = {"hidden_size": 40, "intermediate_size": 44, "num_attention_heads": 4, "num_key_value_heads": 2}
    rope = lambda kind, **more: {"rope_parameters": {"rope_type": kind, "rope_theta": 10000.0, **more}}
    write_model(root, "llama-biases", *decoder("llama", **small, attention_bias=True, mlp_bias=True, **rope(
        "llama3", factor=4.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=12)), seed=100)
    write_model(root, "mistral", *decoder("mistral", **small, head_dim=14, sliding_window=5, **rope("linear", factor=2.0)),
                seed=110, dtype=torch.bfloat16)  # fmt: skip
    write_model(root, "ministral", *decoder("ministral", **small, head_dim=10, sliding_window=4, layer_types=[
        "sliding_attention", "full_attention"]), seed=115, dtype=torch.bfloat16)  # fmt: skip
    write_model(root, "smollm3", *decoder("smollm3", **small, num_hidden_layers=3, no_rope_layer_interval=3,
                tie_word_embeddings=True), seed=121)
    qwen2 = write_model(root, "qwen2", *decoder("qwen2", **small, tie_word_embeddings=True, rms_norm_eps=1e-5), seed=131)
    write_model(root, "qwen2-windows", *decoder("qwen2", **small, use_sliding_window=True, sliding_window=4,
                max_window_layers=1), seed=135)  # fmt: skip
    qwen3 = write_model(root, "qwen3", *decoder("qwen3", **small, head_dim=18, **rope(
        "yarn", factor=4.0, original_max_position_embeddings=6)), seed=140)  # fmt: skip
    write_model(root, "olmo2", *decoder("olmo2", **small), seed=152)
    write_model(root, "phi3", *decoder("phi3", **small, original_max_position_embeddings=3, **rope(
        "longrope", short_factor=[1.0, 1.1, 1.5], long_factor=[1.0, 2.0, 4.0], partial_rotary_factor=0.6, attention_factor=1.1,
        original_max_position_embeddings=3)), seed=163)  # fmt: skip
    write_model(root, "stablelm", *decoder("stablelm", **small, use_qkv_bias=True, **rope(
        "default", partial_rotary_factor=0.4)), seed=170)  # fmt: skip
    write_model(root, "stablelm-parallel", *decoder("stablelm", **small, use_parallel_residual=True, **rope(
        "default", partial_rotary_factor=0.4)), seed=175, dtype=torch.bfloat16)  # fmt: skip
    write_model(root, "olmo3", *decoder("olmo3", **small, sliding_window=4, layer_types=["sliding_attention", "full_attention"],
                rope_theta=500.0, rope_scaling={"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 6}),
                seed=180)  # fmt: skip
    write_model(root, "granite", *decoder("granite", **small, embedding_multiplier=3.0, residual_multiplier=0.4,
                attention_multiplier=0.2, logits_scaling=1.7, tie_word_embeddings=True), seed=185)  # fmt: skip
    many = {**small, "head_dim": 14, "attention_bias": True}
    write_model(root, "gemma", *decoder("gemma", **many), seed=190, dtype=torch.bfloat16)
    write_model(root, "gemma2", *decoder("gemma2", **small, head_dim=14, sliding_window=4, query_pre_attn_scalar=20,
                attn_logit_softcapping=2.0, final_logit_softcapping=3.0), seed=195)  # fmt: skip
    write_model(root, "gemma3", *decoder("gemma3_text", **small, head_dim=14, sliding_window=4, query_pre_attn_scalar=20,
                layer_types=["sliding_attention", "full_attention"], rope_theta=2e5, rope_local_base_freq=300.0, rope_scaling={"rope_type": "linear", "factor": 8.0}), seed=200)  # fmt: skip
    write_neox(root)
    write_experts(root)
    write_gguf_families(root, small)
    write_gguf(root, "qwen2", qwen2)
    write_gguf(root, "qwen3", qwen3)


def write_experts(root):
    """Experts under the names of published files, which the library joins when it loads them."""
    small = {"hidden_size": 40, "intermediate_size": 44, "num_attention_heads": 4, "num_key_value_heads": 2}
    write_model(root, "mixtral", *decoder("mixtral", **small, num_local_experts=5, num_experts_per_tok=2), seed=220,
                published=True)
    write_model(root, "qwen3-moe", *decoder("qwen3_moe", **small, num_hidden_layers=2, head_dim=14, num_experts=7,
                num_experts_per_tok=3, moe_intermediate_size=22, norm_topk_prob=False, mlp_only_layers=[1]), seed=225,
                published=True, dtype=torch.bfloat16)  # fmt: skip


    sinks = {"head_dim": 14, "sliding_window": 4, "num_local_experts": 5, "num_experts_per_tok": 2, "rope_parameters": {
        "rope_type": "yarn", "rope_theta": 1000.0, "factor": 4.0, "beta_fast": 32.0, "beta_slow": 1.0, "truncate": False,
        "original_max_position_embeddings": 6}}  # fmt: skip
    write_model(root, "gpt-oss", *decoder("gpt_oss", **small, **sinks, num_hidden_layers=3, swiglu_limit=1.25,
                swiglu_alpha=1.5), seed=230, dtype=torch.bfloat16)  # fmt: skip
    model, places = decoder("gpt_oss", **{**small, "hidden_size": 64, "intermediate_size": 32}, **sinks)
    model.config.quantization_config = {"quant_method": "mxfp4"}
    write_model(root, "gpt-oss-mxfp4", model, places, seed=235, dtype=torch.bfloat16, quantise=in_mxfp4)
    write_gguf(root, "gpt-oss-gguf", write_model(root, "gpt-oss-gguf", *decoder("gpt_oss", **small, **sinks), seed=248))


def in_mxfp4(model):
    """Random codes of visible size as the experts' matrices, whose values the library's own reading gives."""
    from transformers.integrations.mxfp4 import convert_moe_packed_tensors

    generator = torch.Generator().manual_seed(236)
    stored = {}
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if not name.endswith(("experts.gate_up_proj", "experts.down_proj")):
                continue
            experts, rows, columns = parameter.shape
            blocks = torch.randint(0, 256, (experts, columns, rows // 32, 16), generator=generator).to(torch.uint8)
            largest = 123 if name.endswith("gate_up_proj") else 121
            scales = torch.randint(largest - 3, largest, (experts, columns, rows // 32), generator=generator).to(torch.uint8)
            parameter.copy_(convert_moe_packed_tensors(blocks, scales, dtype=torch.float32))
            stored |= {name: None, f"{name}_blocks": blocks, f"{name}_scales": scales}
    return stored


def in_gptq(model):
    """Random codes of four bits in groups of 32; what reads MLP's inputs has them in an order of its own."""
    from generate_quantised_checkpoints import words

    generator = torch.Generator().manual_seed(246)
    stored = {}
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if not name.endswith("proj.weight"):
                continue
            rows, columns = parameter.shape
            codes = torch.randint(0, 16, (rows, columns), generator=generator, dtype=torch.int32)
            zeros = torch.randint(1, 17, (columns // 32, rows), generator=generator, dtype=torch.int32) % 16
            scales = (torch.rand((columns // 32, rows), generator=generator) * 0.03 + 0.01).half()
            group = torch.arange(columns, dtype=torch.int32) // 32
            if "up_proj" in name:
                group = group[torch.randperm(columns, generator=generator)]
            place = group.long()
            parameter.copy_((codes - zeros[place].t()).float() * scales[place].t().float())
            base = name.removesuffix(".weight")
            stored |= {name: None, f"{base}.qweight": words(codes, 4).t().contiguous(), f"{base}.scales": scales,
                       f"{base}.qzeros": words((zeros - 1) % 16, 4), f"{base}.g_idx": group}  # fmt: skip
    return stored


def write_quantised(root):
    model, places = decoder("llama", hidden_size=64, intermediate_size=96, num_attention_heads=4, num_key_value_heads=2)
    model.config.quantization_config = {"quant_method": "gptq", "bits": 4, "group_size": 32, "desc_act": True}
    write_model(root, "llama-gptq", model, places, seed=245, dtype=torch.float16, quantise=in_gptq)


def published_state(model, dtype):
    """What the library itself would save."""
    with tempfile.TemporaryDirectory() as folder:
        copy.deepcopy(model).to(dtype).save_pretrained(folder)
        return load_file(pathlib.Path(folder) / "model.safetensors")


def write_gguf_families(root, small):
    """Folders and GGUF files of the same weights; what GGUF leaves to the architecture is as usual there."""
    plain = {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}}
    part = {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.4}}
    no_window = {"sliding_window": None}
    for seed, name, model_type, settings in (
        (338, "smollm3-gguf", "smollm3", {"num_hidden_layers": 4, "tie_word_embeddings": True}),
        (312, "granite-gguf", "granite", {"embedding_multiplier": 3.0, "residual_multiplier": 0.4, "attention_multiplier": 0.2,
                                     "logits_scaling": 1.7, **plain}),
        (310, "olmo2-gguf", "olmo2", {}),
        (342, "phi3-gguf", "phi3", {**no_window, "original_max_position_embeddings": 3, "rope_parameters": {
            "rope_type": "longrope", "rope_theta": 10000.0, "short_factor": [1.0, 1.1, 1.5, 1.6, 1.7],
            "long_factor": [1.0, 2.0, 4.0, 5.0, 6.0], "attention_factor": 1.1, "original_max_position_embeddings": 3}}),
        (313, "stablelm-gguf", "stablelm", {"use_qkv_bias": True, **part}),
        (309, "neox-gguf", "gpt_neox", part),
        (310, "gemma-gguf", "gemma", {"head_dim": 14, **plain}),
        (311, "gemma2-gguf", "gemma2", {"head_dim": 14, "query_pre_attn_scalar": 14, "sliding_window": 4,
                                   "attn_logit_softcapping": 2.0, "final_logit_softcapping": 3.0}),
        (311, "gemma3-gguf", "gemma3_text", {"head_dim": 14, "query_pre_attn_scalar": 14, "sliding_window": 4,
                                        "num_hidden_layers": 6}),
        (317, "mixtral-gguf", "mixtral", {"num_local_experts": 5, "num_experts_per_tok": 2, **no_window}),
        (326, "qwen3-moe-gguf", "qwen3_moe", {"head_dim": 14, "num_experts": 7, "num_experts_per_tok": 3,
                                         "moe_intermediate_size": 24, "norm_topk_prob": True}),
    ):  # fmt: skip
        sizes = {key: value for key, value in small.items() if model_type != "gpt_neox" or key != "num_key_value_heads"}
        model = write_model(root, name, *decoder(model_type, **{**sizes, **settings}), seed=seed, published=True)
        write_gguf(root, name, model)


def write_neox(root):
    """Both spellings of the configuration: transformers writes its own, the second gets that of published files."""
    small = {"hidden_size": 40, "intermediate_size": 44, "num_attention_heads": 4}
    write_model(root, "gpt-neox", *decoder("gpt_neox", **small, rope_parameters={
        "rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.4}), seed=210, published=True)  # fmt: skip
    write_model(root, "gpt-neox-serial", *decoder("gpt_neox", **small, use_parallel_residual=False, attention_bias=False,
                hidden_act="gelu_fast", rope_parameters={"rope_type": "default", "rope_theta": 500.0,
                "partial_rotary_factor": 0.8}), seed=215, dtype=torch.float16, published=True)  # fmt: skip
    file = root / "gpt-neox-serial" / "config.json"
    config = json.loads(file.read_text())
    del config["rope_parameters"]
    file.write_text(json.dumps({**config, "rotary_emb_base": 500, "rotary_pct": 0.8}, indent=2) + "\n")


def write_cs336(root):
    folder = fresh(root, "cs336")
    config = {"model_type": "cs336", "vocab_size": VOCABULARY, "context_length": CONTEXT, "d_model": 36, "num_layers": 2,
              "num_heads": 2, "d_ff": 52, "rope_theta": 10000.0}  # fmt: skip
    model = randomise(Cs336(config), 90, torch.float32)
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    write_weights(folder, stored(model, torch.float32, "", {}), 1)
    write_cases(folder, OwnCs336(model), 91, 0)


GGUF_ARCHITECTURES = {"gpt_neox": "gptneox", "qwen3_moe": "qwen3moe", "gemma3_text": "gemma3", "mixtral": "llama",
                      "gpt_oss": "gpt-oss"}  # fmt: skip
# llama.cpp's converter changes these on the way.
GGUF_PAIRED_ROWS = ("llama", "mixtral", "smollm3", "granite")


def gguf_values(config, head_dim, state):
    """The tensors of a checkpoint as llama.cpp's converter stores them, under the names of the checkpoint."""
    experts = {}
    for name, value in state.items():
        value = value.to(torch.float32)
        if config.model_type in GGUF_PAIRED_ROWS and name.endswith(("q_proj.weight", "k_proj.weight")):
            value = value.unflatten(0, (-1, 2, head_dim // 2)).transpose(1, 2).flatten(0, 2)
        if config.model_type.startswith("gemma") and name.endswith("norm.weight"):
            value = value + 1
        if "query_key_value" in name:  # By key head there, one behind the other here.
            value = value.unflatten(0, (config.num_attention_heads, 3, head_dim)).transpose(0, 1).flatten(0, 2)
        if name.endswith("self_attn.sinks"):
            name += ".weight"
        if config.model_type == "gpt_oss" and ".experts." in name:
            kind = name.rsplit(".", 1)[1]
            end = "bias" if kind.endswith("_bias") else "weight"
            turned = value if end == "bias" else value.transpose(1, 2)
            base = name.rsplit(".", 1)[0]
            if kind.startswith("gate_up"):
                yield f"{base}.gate_proj.{end}", turned[:, ::2]
                yield f"{base}.up_proj.{end}", turned[:, 1::2]
            else:
                yield f"{base}.down_proj.{end}", turned
            continue
        if ".experts." in name:
            before, after = name.split(".experts.")
            index, part = after.split(".", 1)
            experts.setdefault((before, part), {})[int(index)] = value
            continue
        yield name, value
    for (before, part), values in experts.items():
        merged = torch.stack([values[index] for index in range(len(values))])
        words = {"w1": "gate_proj", "w2": "down_proj", "w3": "up_proj"}
        part = ".".join(words.get(word, word) for word in part.split("."))
        yield f"{before.replace('block_sparse_moe', 'mlp')}.experts.{part}", merged


def write_gguf(root, name, model):
    """A fixture once more as llama.cpp's converter stores it: names by the gguf package's own table."""
    import gguf

    config = model.config
    architecture = GGUF_ARCHITECTURES.get(config.model_type, config.model_type)
    writer = gguf.GGUFWriter(root / f"{name}.gguf", architecture)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(getattr(config, "num_key_value_heads", config.num_attention_heads))
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    writer.add_key_length(head_dim)
    writer.add_value_length(head_dim)
    rope = config.rope_parameters
    rope = rope.get("full_attention", rope)
    writer.add_rope_dimension_count(int(head_dim * rope.get("partial_rotary_factor", 1.0)))
    writer.add_rope_freq_base(rope["rope_theta"])
    if rope["rope_type"] in ("yarn", "linear"):
        writer.add_rope_scaling_type(gguf.RopeScalingType(rope["rope_type"]))
        writer.add_rope_scaling_factor(rope["factor"])
    if "original_max_position_embeddings" in rope:
        writer.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
    if rope["rope_type"] == "longrope":
        writer.add_rope_scaling_attn_factors(rope["attention_factor"])
        for kind in ("long", "short"):
            writer.add_tensor(f"rope_factors_{kind}.weight", torch.tensor(rope[f"{kind}_factor"]).numpy())
    for entry, add in {"rms_norm_eps": writer.add_layer_norm_rms_eps, "layer_norm_eps": writer.add_layer_norm_eps,
                       "use_parallel_residual": writer.add_parallel_residual, "sliding_window": writer.add_sliding_window,
                       "attn_logit_softcapping": writer.add_attn_logit_softcapping,
                       "final_logit_softcapping": writer.add_final_logit_softcapping,
                       "num_local_experts": writer.add_expert_count, "num_experts_per_tok": writer.add_expert_used_count,
                       "moe_intermediate_size": writer.add_expert_feed_forward_length,
                       "attention_multiplier": writer.add_attention_scale, "logits_scaling": writer.add_logit_scale,
                       "embedding_multiplier": writer.add_embedding_scale,
                       "residual_multiplier": writer.add_residual_scale}.items():  # fmt: skip
        if getattr(config, entry, None) is not None:
            add(getattr(config, entry))
    kind = next(key for key, value in gguf.MODEL_ARCH_NAMES.items() if value == architecture)
    names = gguf.get_tensor_name_map(kind, config.num_hidden_layers)
    state = published_state(model, torch.float32)
    for name, value in gguf_values(config, head_dim, state):
        stored_name = names.get_name(name, try_suffixes=(".weight", ".bias"))
        assert stored_name, name
        writer.add_tensor(stored_name, value.contiguous().numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    root = parser.parse_args().folder
    labels = lambda count: {"id2label": {i: f"LABEL_{i}" for i in range(count)}}

    # Buffers as old checkpoints carry them, to be ignored.
    causal = {f"h.{i}.attn.bias": torch.ones(1, 1, CONTEXT, CONTEXT, dtype=torch.uint8).tril() for i in range(2)}
    positions = {"bert.embeddings.position_ids": torch.arange(CONTEXT)[None]}

    write_model(root, "gpt2", *gpt2(n_embd=32, n_head=4), seed=10)
    write_model(root, "gpt2-untied", *gpt2(n_embd=48, n_head=3, n_inner=56, tie_word_embeddings=False,
                activation_function="gelu_pytorch_tanh"), seed=20, dtype=torch.bfloat16, drop_prefix="transformer.", extra=causal)
    write_model(root, "bert", *bert(BertModel, hidden_size=32, num_attention_heads=2, intermediate_size=50), seed=30)
    write_model(root, "bert-classifier", *bert(BertForSequenceClassification, hidden_size=48, num_attention_heads=4,
                intermediate_size=64, **labels(3)), seed=40, dtype=torch.float16, labels=3, extra=positions)
    write_model(root, "distilbert", *distilbert(DistilBertModel, dim=40, n_heads=4, hidden_dim=56), seed=50)
    write_model(root, "distilbert-classifier", *distilbert(DistilBertForSequenceClassification, dim=32, n_heads=2,
                hidden_dim=44, activation="relu", **labels(2)), seed=60, dtype=torch.bfloat16, labels=2)
    tied = write_model(root, "llama-tied", *llama(hidden_size=32, num_attention_heads=4, num_key_value_heads=2, head_dim=12,
                intermediate_size=44, tie_word_embeddings=True, rms_norm_eps=1e-5,
                rope_parameters={"rope_type": "default", "rope_theta": 500000.0}), seed=70)
    write_model(root, "llama-untied", *llama(hidden_size=48, num_attention_heads=3, num_key_value_heads=1,
                intermediate_size=40, tie_word_embeddings=False), seed=80, dtype=torch.float16, drop_prefix="model.", shards=3)
    write_cs336(root)
    write_gguf(root, "llama-tied", tied)
    write_decoders(root)
    write_encoders(root)
    write_quantised(root)
    write_heads(root)
    write_deberta(root)
    write_image_readers(root)
    write_modernbert(root)
    write_parallel_decoders(root)


if __name__ == "__main__":
    main()

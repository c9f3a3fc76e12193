#!/usr/bin/env python3
"""Writes fixtures for src/text/parity_test.cc: odd strings, with the ids that the `tokenizers` library gives them.

Run it in an environment of its own with tokenizers==0.23.3 (and gguf, with --gguf). The small set in the repository:

    python3 tools/tokenizer_parity.py src/text/fixtures --shared ../shared --cases 120

A long run: write into another folder with more cases, then ASSAY_PARITY_FIXTURES=FOLDER test_text.
"""
import argparse
import json
import pathlib
import random
import unicodedata

from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers

LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
    r"\s*[\r\n]+|\s+(?!\S)|\s+"
)
MARKS = [c for c in range(0x110000) if unicodedata.combining(chr(c))]
NUMBERS = [c for c in range(0x110000) if chr(c).isnumeric()]
PUNCTUATION = [c for c in range(0x110000) if unicodedata.category(chr(c))[0] in "PS"]
SPACES = [
    9, 10, 11, 12, 13, 28, 29, 30, 31, 32, 32, 32, 0x85, 0xA0, 0x1680, 0x180E, *range(0x2000, 0x2010),
    0x2028, 0x2029, 0x202F, 0x205F, 0x2060, 0x3000, 0xFEFF,
]  # fmt: skip
ODD = [
    0, 1, 0x7F, 0x80, 0xAD, 0x130, 0x131, 0xDF, 0x1E9E, 0x17F, 0x212A, 0x212B, 0x3A3, 0x345, 0x344, 0x1E9B,
    0x200B, 0x200C, 0x200D, 0x2028, 0xFB01, 0xFB06, 0xFFFC, 0xFFFD, 0xFFFE, 0xFFFF, 0x10FFFF, 0xE000,
    0x1F468, 0x1F3FD, 0xFE0F, 0x1F1FA, 0x302E, 0x302F, 0x16FF0, 0x1D165, 0x1D16D, 0x3099, 0x1100, 0x1161,
    0x11A8, 0xAC00, 0xD7A3, 0x4E00, 0x9FFF, 0xA000, 0x20000, 0x2A6DF, 0x2A6E0, 0x2F800, 0xF900, 0xFA0E,
]  # fmt: skip
WORDS = """the of unaffable embeddings don't THEY'RE it's I'LL we'VE 'd 'S 'ſ x's naïve CAFÉ Ångström Żółć ΟΔΥΣΣΕΥΣ
İstanbul straße дом Ёлка 한국어 日本語 テキスト नमस्ते ไทย עברית العربية e.g. 3.14 1,000 2026 ½ Ⅳ ²
a@-@b <unk> ##ing ## # _ -- ... !?
[CLS] [SEP] [MASK] [PAD] [UNK] [cls] <|endoftext|> <|im_start|> <|im_end|> <repo_name> <s> </s>""".split()


def random_piece(rng, specials):
    pick = lambda pool: chr(rng.choice(pool))
    plane = lambda: chr(rng.choice([rng.randrange(0x3000), rng.randrange(0xD800), rng.randrange(0xE000, 0x110000),
                                    rng.randrange(0xE000, 0x20000)]))
    kinds = [
        lambda: plane(), lambda: pick(SPACES), lambda: pick(MARKS), lambda: pick(NUMBERS), lambda: pick(PUNCTUATION),
        lambda: pick(ODD), lambda: rng.choice(WORDS), lambda: rng.choice(WORDS) + " ", lambda: " " + rng.choice(WORDS),
        lambda: rng.choice(specials) if specials else "", lambda: chr(rng.randrange(32, 127)),
        lambda: "".join(pick(SPACES) for _ in range(rng.randrange(6))),
        lambda: "aeoU"[rng.randrange(4)] + "".join(pick(MARKS) for _ in range(rng.randrange(6))),
        lambda: pick(SPACES) * rng.randrange(5), lambda: "".join(rng.choices("abcdefghijklmnop", k=rng.randrange(12))),
        lambda: "\n", lambda: "'" + rng.choice(["s", "t", "re", "ve", "m", "ll", "d", "S", "LL", "ſ", "x"]),
    ]  # fmt: skip
    return rng.choice(kinds)()


def random_text(rng, specials):
    if rng.random() < 0.02:
        return random_piece(rng, specials) * rng.randrange(90, 120)
    text = "".join(random_piece(rng, specials) for _ in range(rng.randrange(1, 14)))
    return text.encode("utf-8", "ignore").decode("utf-8")


def shared_file(value):
    """In a fixture "@a/b" stands for the content of the file a/b of the shared folder."""
    path = pathlib.Path(SHARED, value[1:])
    if path.suffix == ".json":
        return json.loads(path.read_text("utf-8"))
    return [line for line in path.read_text("utf-8").split("\n") if line and not line.startswith("#version")]


def load(definition):
    """The tokenizer of a tokenizer.json whose vocabulary and merges may be references."""
    whole = json.loads(json.dumps(definition))
    for key in ("vocab", "merges"):
        if isinstance(whole["model"].get(key), str):
            whole["model"][key] = shared_file(whole["model"][key])
    return Tokenizer.from_str(json.dumps(whole))


def added(content, identifier, **flags):
    return {"id": identifier, "content": content, "single_word": False, "lstrip": False, "rstrip": False,
            "normalized": False, "special": True, **flags}  # fmt: skip


def gpt2_with(pre_tokenizer, **model):
    files = {"vocab": "@models/gpt2-tokenizer/vocab.json", "merges": "@models/gpt2-tokenizer/merges.txt"}
    specials = [added("<|endoftext|>", 50256)]
    bpe = {"type": "BPE", **files, **model}
    return {"version": "1.0", "added_tokens": specials, "pre_tokenizer": pre_tokenizer, "model": bpe}


def small_wordpiece(normalizer, added_tokens):
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *"abcdefghijklmnop0123456789.,!?'-", "the", "i̇", "ss", "日", "é", "e"]
    tokens += ["##" + c for c in "abcdefghijklmnopé0123"] + ["##ing", "##́", "##̈"]
    vocab = {t: i for i, t in enumerate(dict.fromkeys(tokens))}
    next_id = len(vocab)
    specials = [added(t, vocab[t]) for t in ("[PAD]", "[UNK]", "[CLS]", "[SEP]")]
    specials += [added(t, next_id + i, **flags) for i, (t, flags) in enumerate(added_tokens)]
    return {"version": "1.0", "added_tokens": specials, "normalizer": normalizer,
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
            "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                      "max_input_chars_per_word": 12, "vocab": vocab}}  # fmt: skip


def bert_normalizer(**on):
    steps = {"clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True}
    return {"type": "BertNormalizer", **steps, **on}


def definitions():
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    whole, prefixed = {**byte_level, "use_regex": False}, {**byte_level, "add_prefix_space": True}
    split = lambda regex: {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": False}
    sequence = lambda *parts: {"type": "Sequence", "pretokenizers": list(parts)}
    nfd_lower = {"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "Lowercase"}]}
    plain = {"normalized": True, "special": False}
    strange = [("ab", {"lstrip": True, "rstrip": True}), ("abc", {"single_word": True}), ("DÉ", plain),
               (" é ", {**plain, "single_word": True}), ("dh", {"normalized": True, "rstrip": True}),
               (" x", {}), ("e\u0301", {**plain, "lstrip": True})]  # fmt: skip
    return {
        "gpt2-digits": gpt2_with(sequence({"type": "Digits", "individual_digits": True}, byte_level)),
        "gpt2-digit-runs-prefix": gpt2_with(sequence({"type": "Digits", "individual_digits": False}, prefixed)),
        "gpt2-llama3": gpt2_with(sequence(split(LLAMA3), whole), ignore_merges=True),
        "gpt2-qwen2": gpt2_with(sequence(split(LLAMA3.replace("{1,3}", "")), whole)),
        "small-uncased": small_wordpiece(bert_normalizer(), strange),
        "small-cased": small_wordpiece(bert_normalizer(lowercase=False), strange),
        "small-lower-accents": small_wordpiece(bert_normalizer(strip_accents=False), strange),
        "small-unclean": small_wordpiece(bert_normalizer(clean_text=False, handle_chinese_chars=False), []),
        "small-nfd-lower": small_wordpiece(nfd_lower, strange),
    }  # fmt: skip


def vocabulary_text(name, **config):
    """A folder with vocab.txt and tokenizer_config.json, as transformers reads it."""
    definition = json.loads(pathlib.Path(SHARED, "models/distilbert-sst2-mini/tokenizer.json").read_text("utf-8"))
    accents = config.get("strip_accents")
    definition["normalizer"] = bert_normalizer(lowercase=config["do_lower_case"], strip_accents=accents)
    return name, {"vocabulary_text": "models/distilbert-sst2-mini/vocab.txt", "config": config}, load(definition)


def gguf_tokenizer(path):
    from gguf import GGUFReader

    fields = GGUFReader(path).fields
    tokens = fields["tokenizer.ggml.tokens"].contents()
    merges = [tuple(m.split(" ")) for m in fields["tokenizer.ggml.merges"].contents()]
    tokenizer = Tokenizer(models.BPE({t: i for i, t in enumerate(tokens)}, merges))
    digits, byte_level = pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([digits, byte_level])
    types = fields["tokenizer.ggml.token_type"].contents()
    tokenizer.add_special_tokens([AddedToken(t, special=True) for t, k in zip(tokens, types) if k == 3])
    return tokenizer


def references(gguf):
    """(name, what the C++ test loads, the library's tokenizer)"""
    path = "models/distilbert-sst2-mini"
    yield "distilbert", {"path": path}, Tokenizer.from_file(str(pathlib.Path(SHARED, path, "tokenizer.json")))
    yield vocabulary_text("vocabulary-text-uncased", do_lower_case=True)
    yield vocabulary_text("vocabulary-text-cased", do_lower_case=False)
    yield vocabulary_text("vocabulary-text-lower-accents", do_lower_case=True, strip_accents=False)
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    yield "gpt2", {"path": "models/gpt2-tokenizer"}, load(gpt2_with(byte_level))
    for name, definition in definitions().items():
        yield name, {"json": definition}, load(definition)
    if gguf:
        yield "smollm2", {"gguf": True}, gguf_tokenizer(gguf)


def main():
    global SHARED
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--shared", required=True, help="the folder that holds models/")
    parser.add_argument("--gguf", help="SmolLM2-135M-Instruct.Q4_1.gguf")
    parser.add_argument("--cases", type=int, default=120)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    SHARED = options.shared
    options.folder.mkdir(parents=True, exist_ok=True)
    for name, source, tokenizer in references(options.gguf):
        rng = random.Random(f"{name} {options.seed}")
        specials = [t.content for t in tokenizer.get_added_tokens_decoder().values()]
        texts = ["", " ", "\n", "Hello, world!\n", *(random_text(rng, specials) for _ in range(options.cases))]
        cases = [[text, tokenizer.encode(text).ids] for text in texts]
        whole = json.dumps({"tokenizer": source, "cases": []}, separators=(",", ":"))[:-2]
        lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
        (options.folder / f"{name}.json").write_text(f"{whole}\n{lines}\n]}}\n", "utf-8")


if __name__ == "__main__":
    main()

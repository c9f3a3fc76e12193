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
import struct
import unicodedata

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
    r"\s*[\r\n]+|\s+(?!\S)|\s+"
)
CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
# The expressions of well-known families, as their tokenizer.json have them.
EXPRESSIONS = {
    "gpt4o": (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+" + CONTRACTIONS + "?|"
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*" + CONTRACTIONS + "?|"
        r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
    "tekken": (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|"
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|"
        r"\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
    "deepseek-v3": (
        "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|"
        r"[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
    "bloom": r" ?[^(\s|[.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c])]+",
}
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


# What a normaliser may drop or make several characters of, at the beginning.
STARTS = ["\u00ad\u00adx y", "\u0001a", "\u0301a", "\u0301\u0323a.", "...a", "…a", "…. b", "bba", "bThb", "Th. a", "  . a", "\u00a0a",
          "\n\nab", "\u00ade\u0301.b", "ﬁne", "\u0130.", "e\u0301\u0323", "[SEP]a", "a[SEP] .b", "\u1ffd\u00b4.", "\u0344\u0323a"]  # fmt: skip
CORPUS = """The quick brown fox jumps over the lazy dog; it's 2026 and she doesn't know 3.14159 from 1,000,000.
Tokenizers cut texts into words: don't THEY'RE we'VE I'LL naïve café Ångström Żółć ΟΔΥΣΣΕΥΣ straße Ёлка дом работа.
한국어 문장 하나. 日本語のテキスト テスト。 中文文本測試，好的。 नमस्ते दुनिया สวัสดีชาวโลก שלום עולם مرحبا بالعالم ١٢٣ ½ Ⅳ ² ﬁnance ＡＢＣ
def f(x):\n\treturn x ** 2  # comment\n\n    if x >= 0 and y != 1: print('hello', \"world\")\r\n
👨‍👩‍👧‍👦 👍🏽 🇩🇪 ☺️ … — – “quotes” ‘single’ e\u0301 a\u0308o\u0302 ☃ \u00a0 \u2003 \u200b tail""".split("\n")
SPECIALS = ["<unk>", "<s>", "</s>", "<pad>", "<mask>"]
BYTES = [f"<0x{i:02X}>" for i in range(256)]


def trained(model, trainer, normalizer, pre_tokenizer):
    tokenizer = Tokenizer(model)
    if normalizer:
        tokenizer.normalizer = normalizer
    if pre_tokenizer:
        tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.train_from_iterator(CORPUS, trainer)
    return tokenizer


def byte_level_bpe(expressions):
    whole = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    parts = [pre_tokenizers.Split(Regex(e), "isolated") for e in expressions]
    trainer = trainers.BpeTrainer(vocab_size=500, special_tokens=SPECIALS, show_progress=False,
                                  initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()))  # fmt: skip
    made = trained(models.BPE(), trainer, None, pre_tokenizers.Sequence([*parts, whole]))
    made.decoder = decoders.ByteLevel()
    made.post_processor = processors.ByteLevel(trim_offsets=False)
    return made


def fallback_bpe(normalizer, pre_tokenizer, **model):
    trainer = trainers.BpeTrainer(vocab_size=560, special_tokens=SPECIALS + BYTES, show_progress=False,
                                  limit_alphabet=70)  # fmt: skip
    made = trained(models.BPE(**model), trainer, normalizer, pre_tokenizer)
    definition = json.loads(made.to_str())
    definition["model"].update(byte_fallback=True, fuse_unk=True, unk_token="<unk>", **model)
    definition["added_tokens"] = [t for t in definition["added_tokens"] if t["id"] < len(SPECIALS)]
    made = Tokenizer.from_str(json.dumps(definition))
    made.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
                                      decoders.Strip(" ", 1, 0)])  # fmt: skip
    made.post_processor = template("<s> $A", "<s> $A <s>:1 $B:1")
    return made


def template(single, pair):
    return processors.TemplateProcessing(single=single, pair=pair, special_tokens=[("<s>", 1), ("</s>", 2)])


def usual_map():
    entries = {chr(c): unicodedata.normalize("NFKC", chr(c)) for c in [*range(0xA0, 0x100), *range(0xFB00, 0xFB03),
               *range(0xFF21, 0xFF24), 0x3000, 0x2122]}  # fmt: skip
    entries = {k: v for k, v in entries.items() if k != v}
    entries.update({"\t": " ", "\n": " ", "\r": " ", "\r\n": " ", "\u200b": "", "\u00ad": "", "e\u0301": "é",
                    "a\u0308": "ä", "o\u0302": "ô", "\u0600": "N", "A\u030a": "Å"})  # fmt: skip
    return entries


SMALL_MAP = {"\t": " ", "\r\n": " ", "\u00ad": "", "…": "...", "ﬁ": "fi", "e\u0301": "é", "\u0301": ""}


def charsmap(entries):
    """A character map as sentencepiece compiles it: a double array, here laid out with a block of 256 units a node."""
    replacements, offsets = b"", {}
    for value in sorted(set(entries.values())):
        offsets[value] = len(replacements)
        replacements += value.encode() + b"\0"
    tree = {}
    for key, value in entries.items():
        node = tree
        for byte in key.encode():
            node = node.setdefault(byte, {})
        node[0] = offsets[value]
    units, blocks = {}, [1]

    def place(node, at, label):
        base = blocks[0] * 256
        blocks[0] += 1
        relative = (at ^ base)
        assert relative < 1 << 21
        units[at] = relative << 10 | label | (1 << 8 if 0 in node else 0)
        for byte, child in node.items():
            if byte == 0:
                units[base] = 1 << 31 | child
            else:
                place(child, base ^ byte, byte)

    place(tree, 0, 0)
    size = blocks[0] * 256
    array = struct.pack(f"<{size}I", *(units.get(i, 255 << 0 if i % 256 != 255 else 0) for i in range(size)))
    return struct.pack("<I", len(array)) + array + replacements


def unigram(normalizer, before="always", first=(), specials=SPECIALS, **model):
    unknown = next(token for token in specials if "unk" in token.lower())
    trainer = trainers.UnigramTrainer(vocab_size=400, special_tokens=specials, unk_token=unknown, show_progress=False)
    metaspace = pre_tokenizers.Metaspace(prepend_scheme=before)
    made = trained(models.Unigram(), trainer, normalizer, pre_tokenizers.Sequence([*first, metaspace]) if first else metaspace)
    definition = json.loads(made.to_str())
    if model.get("byte_fallback"):
        definition["model"]["vocab"] += [[b, 0.0] for b in BYTES]
    definition["model"].update(model)
    made = Tokenizer.from_str(json.dumps(definition))
    made.decoder = decoders.Metaspace()
    made.post_processor = template("<s> $A </s>", "<s> $A </s> </s> $B </s>")
    return made


def deberta():
    """As transformers 5 builds it, as its converter of sentencepiece's files did before, and with what is rarer: text that
    counts as the first though something before it was dropped, and the other way round."""
    punctuation = [pre_tokenizers.Punctuation("isolated")]
    specials = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"]
    last = [normalizers.Replace(Regex(r"\s{2,}|[\n\r\t]"), " "), normalizers.NFC(), normalizers.Strip(left=False, right=True)]
    mapped = [normalizers.Strip(), normalizers.Precompiled(charsmap(SMALL_MAP)), normalizers.Replace(Regex(" {2,}"), " ")]
    drops = [normalizers.Nmt(), normalizers.NFKD(), normalizers.StripAccents(), normalizers.Replace("Th", ""),
             normalizers.Replace(Regex("[bcd]+"), "z"), normalizers.Strip()]  # fmt: skip
    cleaned = [normalizers.Precompiled(charsmap(SMALL_MAP)), normalizers.BertNormalizer(strip_accents=False)]
    for name, steps, before, first in [("deberta", last, "always", []), ("deberta-first", [normalizers.Lowercase(), *last], "first", punctuation),
                                       ("deberta-map", mapped, "always", punctuation), ("deberta-map-first", mapped, "first", punctuation),
                                       ("first-dropped", drops, "first", []), ("first-cleaned", cleaned, "first", punctuation)]:  # fmt: skip
        made = unigram(normalizers.Sequence(steps), before, first, specials)
        made.post_processor = processors.TemplateProcessing(
            single="[CLS]:0 $A:0 [SEP]:0", pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1", special_tokens=[("[CLS]", 1), ("[SEP]", 2)])  # fmt: skip
        yield f"trained-{name}", made


def families():
    """(name, tokenizer): the kinds of today's models, trained on a few lines."""
    flags = dict(special=False, normalized=True)
    odd = [AddedToken("<mask>", lstrip=True, special=True), AddedToken("word", single_word=True, **flags),
           AddedToken("Don", rstrip=True, **flags)]  # fmt: skip
    for name, expression in EXPRESSIONS.items():
        before = [r"\p{N}{1,3}", "[一-龥\u3040-ゟ゠-ヿ]+"] if name == "deepseek-v3" else []
        yield f"trained-{name}", byte_level_bpe([*before, expression])
    prepend = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    yield "trained-llama2", fallback_bpe(prepend, None)
    yield "trained-gemma", fallback_bpe(normalizers.Replace(" ", "▁"), pre_tokenizers.Split(" ", "merged_with_previous"))
    yield "trained-mistral", fallback_bpe(None, pre_tokenizers.Metaspace(prepend_scheme="first", split=False),
                                          ignore_merges=True)  # fmt: skip
    nfkc_map = normalizers.Sequence([normalizers.Precompiled(charsmap(usual_map())), normalizers.Replace(Regex(" {2,}"), " ")])
    yield "trained-xlmr", unigram(nfkc_map)
    yield from deberta()
    yield "trained-t5-bytes", unigram(normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC()]), byte_fallback=True)
    suffix = trained(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>", fuse_unk=False),
                     trainers.BpeTrainer(vocab_size=300, special_tokens=SPECIALS, end_of_word_suffix="</w>",
                                         show_progress=False, limit_alphabet=60),
                     normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()]),
                     pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Digits(False)]))  # fmt: skip
    suffix.decoder = decoders.BPEDecoder()
    yield "trained-suffix", suffix
    levels = trained(models.WordLevel(unk_token="<unk>"), trainers.WordLevelTrainer(special_tokens=SPECIALS, show_progress=False),
                     normalizers.Sequence([normalizers.NFKD(), normalizers.StripAccents(), normalizers.Strip()]),
                     pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation("contiguous")]))  # fmt: skip
    yield "trained-words", levels
    pieces = trained(models.WordPiece(unk_token="<unk>"), trainers.WordPieceTrainer(vocab_size=300, special_tokens=SPECIALS, show_progress=False),
                     normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents(), normalizers.NFC()]),
                     pre_tokenizers.Split(Regex(r"\w+|\p{P}"), "merged_with_next", invert=True))  # fmt: skip
    pieces.decoder = decoders.WordPiece()
    pieces.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 1))
    yield "trained-pieces", pieces
    for name, made in [("previous", "merged_with_previous"), ("removed", "removed")]:
        tokenizer = trained(models.BPE(unk_token="<unk>"), trainers.BpeTrainer(vocab_size=200, special_tokens=SPECIALS, show_progress=False, limit_alphabet=50),
                            None, pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(r"[\s,.]"), made), pre_tokenizers.Metaspace(prepend_scheme="first")]))  # fmt: skip
        tokenizer.add_tokens(odd)
        yield f"trained-{name}", tokenizer


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
    for name, tokenizer in families():
        yield name, {"json": json.loads(tokenizer.to_str())}, tokenizer
    if gguf:
        yield "smollm2", {"gguf": True}, gguf_tokenizer(gguf)


def pair_case(tokenizer, first, second):
    row = tokenizer.encode(first, second)
    return [first, second, row.ids, row.type_ids]


def main():
    global SHARED
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--shared", required=True, help="the folder that holds models/")
    parser.add_argument("--gguf", help="SmolLM2-135M-Instruct.Q4_1.gguf")
    parser.add_argument("--cases", type=int, default=120)
    parser.add_argument("--only", default="", help="fixtures whose names begin so")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    SHARED = options.shared
    options.folder.mkdir(parents=True, exist_ok=True)
    for name, source, tokenizer in references(options.gguf):
        if not name.startswith(options.only):
            continue
        rng = random.Random(f"{name} {options.seed}")
        specials = [t.content for t in tokenizer.get_added_tokens_decoder().values()]
        decoded = name.startswith("trained-")
        starts = STARTS if '"first"' in tokenizer.to_str() else []
        texts = [*starts, "", " ", "\0 \0a", "\r", "a\rb\r\n", " " * 70 + "x", "👨‍👩‍👧‍👦 👍🏽e\u0301\u0323", "word wordy Don  don't <mask> x", "\n", "Hello, world!\n", *(random_text(rng, specials) for _ in range(options.cases))]
        cases = []
        for text in texts:
            ids = tokenizer.encode(text).ids
            cases.append([text, ids] + ([tokenizer.decode(ids)] if decoded else []))
        if decoded:
            source["pair"] = pair_case(tokenizer, texts[-1], texts[-2])
        whole = json.dumps({"tokenizer": source, "cases": []}, separators=(",", ":"))[:-2]
        lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
        (options.folder / f"{name}.json").write_text(f"{whole}\n{lines}\n]}}\n", "utf-8")


if __name__ == "__main__":
    main()

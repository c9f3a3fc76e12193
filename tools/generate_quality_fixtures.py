#!/usr/bin/env python3
"""Writes tests/fixtures/quality: a small tokenizer, data of every kind that encoders are scored on, and the figures that
transformers gives for them with models of tests/fixtures/models.

Run it in the environment of generate_model_fixtures.py, after that:

    python3 tools/generate_quality_fixtures.py tests/fixtures
"""
import argparse
import json
import pathlib
import string

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import (AutoModel, AutoModelForMaskedLM, AutoModelForSequenceClassification,
                          AutoModelForTokenClassification, PreTrainedTokenizerFast)  # fmt: skip

TEXT = """The rows of a table are read one after another, and each of them is scored where it stands.
A figure without its protocol compares with nothing: how a text is cut moves it by whole factors.
Words that are masked by themselves are told from what stands before and behind them.
"""
PAIRS = [("a table is cut", "the text moves", 0), ("rows are read", "each row is read", 2), ("it is told", "nothing", 1),
         ("a", "b", 1), ("a figure", "of a whole text, cut by rows", 2), ("words", "words", 0)]  # fmt: skip
SCORES = [1.5, 4.75, 0.0, 2.0, 3.25, 5.0]
TAGGED = [(["the", "rows", "of", "tables"], [0, 3, 8, 2]), (["masked", "words", ","], [1, -100, 4])]
WINDOW = 12


def made_tokenizer():
    """Letters and some words: no more ids than the models have."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    letters, words = string.ascii_lowercase, ["the", "row", "each", "text", "word", "of", "is", "read", "cut", "##ed", "##s"]
    tokens = [*special, *".,:", *letters, *(f"##{letter}" for letter in letters if letter != "s"), *words]
    tokenizer = Tokenizer(models.WordPiece({token: place for place, token in enumerate(tokens)}, unk_token="[UNK]"))
    tokenizer.add_special_tokens(special)
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    assert tokenizer.get_vocab_size() <= 97
    ends = [(token, tokenizer.token_to_id(token)) for token in ("[SEP]", "[CLS]")]
    tokenizer.post_processor = processors.BertProcessing(*ends)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]",
                                   sep_token="[SEP]", mask_token="[MASK]")  # fmt: skip


def opened(kind, root, name):
    return kind.from_pretrained(root / "models" / name, dtype=torch.float32).eval()


def figures(rows):
    """Of (logits, label)."""
    losses = [-torch.log_softmax(logits.double(), -1)[label].item() for logits, label in rows]
    correct = sum(int(logits.argmax() == label) for logits, label in rows)
    return {"scored": len(rows), "correct": correct, "mean_nll": sum(losses) / len(losses)}


def pseudo_perplexity(root, tokenizer):
    model, rows = opened(AutoModelForMaskedLM, root, "bert-masked"), []
    ids = tokenizer(TEXT, add_special_tokens=False)["input_ids"]
    for begin in range(0, len(ids), WINDOW - 2):
        row = [tokenizer.cls_token_id, *ids[begin:begin + WINDOW - 2], tokenizer.sep_token_id]
        for place in range(1, len(row) - 1):
            masked = torch.tensor([row])
            masked[0, place] = tokenizer.mask_token_id
            rows.append((model(input_ids=masked).logits[0, place], row[place]))
    return figures(rows)


def pairs(root, tokenizer):
    model = opened(AutoModelForSequenceClassification, root, "bert-pairs")
    both = lambda first, second: tokenizer(first, second, return_tensors="pt", return_token_type_ids=True)
    run = lambda first, second: model(**both(first, second)).logits[0]
    return figures([(run(first, second), label) for first, second, label in PAIRS])


def cosines(root, tokenizer):
    model = opened(AutoModel, root, "bert-cls")
    embed = lambda text: model(input_ids=tokenizer(text, return_tensors="pt")["input_ids"]).last_hidden_state[0, 0]
    return [torch.cosine_similarity(embed(first), embed(second), dim=0).item() for first, second, _ in PAIRS]


def tags(root, tokenizer):
    model, rows = opened(AutoModelForTokenClassification, root, "bert-tokens"), []
    for words, labels in TAGGED:
        encoded = tokenizer(words, is_split_into_words=True, return_tensors="pt")
        logits, seen = model(**encoded).logits[0], set()
        for place, word in enumerate(encoded.word_ids(0)):
            if word is None or word in seen:
                continue
            seen.add(word)
            if labels[word] >= 0:
                rows.append((logits[place], labels[word]))
    return figures(rows)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fixtures", type=pathlib.Path)
    root = parser.parse_args().fixtures
    folder = root / "quality"
    folder.mkdir(exist_ok=True)
    tokenizer = made_tokenizer()
    tokenizer.backend_tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "text.txt").write_text(TEXT)
    lines = "".join(f"{first}\t{second}\t{label}\n" for first, second, label in PAIRS)
    (folder / "classes.tsv").write_text("premise\thypothesis\tlabel\n" + lines)
    scored = [{"sentence1": first, "sentence2": second, "score": score} for (first, second, _), score in zip(PAIRS, SCORES)]
    (folder / "scores.jsonl").write_text("".join(json.dumps(line) + "\n" for line in scored))
    tagged = [{"tokens": words, "ner_tags": labels} for words, labels in TAGGED]
    (folder / "tags.jsonl").write_text("".join(json.dumps(line) + "\n" for line in tagged))
    with torch.no_grad():
        expected = {"window": WINDOW, "text": pseudo_perplexity(root, tokenizer), "classes": pairs(root, tokenizer),
                    "scores": cosines(root, tokenizer), "tags": tags(root, tokenizer)}  # fmt: skip
    (folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")


main()

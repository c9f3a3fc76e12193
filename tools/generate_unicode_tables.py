#!/usr/bin/env python3
"""Writes src/text/unicode_tables.cc: what the `tokenizers` library takes each code point for.

Libraries disagree about Unicode (versions, categories, case), so every property is read off the library itself, code
point by code point. Run it in an environment of its own with tokenizers==0.23.3:

    python3 tools/generate_unicode_tables.py > src/text/unicode_tables.cc
"""
import struct
import sys
import unicodedata

import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers

CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
FLAGS = ["removed", "cjk", "mark", "punctuation", "white", "letter", "number", "space", "digit", "word"]
CATEGORIES = "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Cs Co Cn".split()
GRAPHEMES = "other cr lf control extend joiner regional prepend spacing l v t lv lvt".split()
CLASSES = {"han": r"\p{Han}", "word_class": r"\w", "pictographic": r"\p{Extended_Pictographic}"}
HANGUL = range(0xAC00, 0xAC00 + 11172)


def bert(**on):
    steps = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    return normalizers.BertNormalizer(**{**steps, **on})


def where(test):
    return {c for c in CODE_POINTS if test(chr(c))}


def regex_class(expression):
    """The code points that the library's regular expression engine puts in a class."""
    drop = normalizers.Replace(Regex(expression), "")
    found = set()
    for start in range(0, len(CODE_POINTS), 4096):
        block = CODE_POINTS[start : start + 4096]
        left = set(map(ord, drop.normalize_str("".join(map(chr, block)))))
        found.update(c for c in block if c not in left)
    return found


def added_token_class(token, tokens_when_in_class):
    """The code points after which an added token matches so that the two together give this many tokens."""
    tokenizer = Tokenizer(models.WordLevel({"u": 0}, "u"))
    tokenizer.add_tokens([token])
    found = set()
    for start in range(0, len(CODE_POINTS), 65536):
        block = CODE_POINTS[start : start + 65536]
        encoded = tokenizer.encode_batch(["Q" + chr(c) for c in block])
        found.update(c for c, e in zip(block, encoded) if tokens_when_in_class(e.ids))
    return found


def properties():
    clean, accents, cjk = bert(clean_text=True), bert(strip_accents=True), bert(handle_chinese_chars=True)
    split, digits = pre_tokenizers.BertPreTokenizer(), pre_tokenizers.Digits(individual_digits=True)
    pieces = {c: len(split.pre_tokenize_str(f"a{chr(c)}b")) for c in CODE_POINTS}
    cleaned = {c: clean.normalize_str(f"a{chr(c)}b") for c in CODE_POINTS}
    table = {
        "removed": {c for c in CODE_POINTS if cleaned[c] == "ab"},
        "cjk": where(lambda s: cjk.normalize_str(s) == f" {s} "),
        "mark": where(lambda s: accents.normalize_str("a" + s) == "a"),
        "punctuation": {c for c in CODE_POINTS if pieces[c] == 3},
        "white": {c for c in CODE_POINTS if pieces[c] == 2},
        "letter": regex_class(r"\p{L}"),
        "number": regex_class(r"\p{N}"),
        "space": regex_class(r"\s"),
        "digit": where(lambda s: len(digits.pre_tokenize_str(f"a{s}a")) == 3),
        "word": added_token_class(AddedToken("Q", single_word=True, normalized=False), lambda ids: ids[0] == 0),
    }
    # One table of white space serves three places of the library, as long as they agree.
    assert {c for c in CODE_POINTS if cleaned[c] == "a b"} == table["white"] - table["removed"]
    stripped = added_token_class(AddedToken("Q", rstrip=True, normalized=False), lambda ids: len(ids) == 1)
    assert stripped == table["white"], stripped ^ table["white"]
    return table


def map_of_a():
    """A Precompiled normaliser that turns "a" into "X": a double array with one key."""
    units = [0] * 1024
    units[0] = 0x100 << 10
    units[0x100 ^ 97] = 97 | 1 << 8 | 0x200 << 10
    units[0x100 ^ 97 ^ 0x200] = 1 << 31
    return normalizers.Precompiled(struct.pack("<1025I", 4096, *units) + b"X\0")


def grapheme_breaks(categories):
    """Names of GRAPHEMES. What joins the character before it is read off Precompiled, which replaces "a" and what belongs to
    it as a whole; what joins the next one is asked of the regular expressions, since Precompiled does not show it."""
    whole, cluster = map_of_a(), normalizers.Replace(Regex(r"\X"), "Q")
    found = {c: "prepend" for c in CODE_POINTS if cluster.normalize_str(chr(c) + "a") == "Q"}
    controls = [CATEGORIES.index(k) for k in ("Cc", "Cf", "Zl", "Zp")]
    found.update({c: "control" for c, k in categories.items() if k in controls and found.get(c) != "prepend"})
    joins = where(lambda s: whole.normalize_str("a" + s) == "X")
    spacing = CATEGORIES.index("Mc")
    found.update({c: "spacing" if categories.get(c) == spacing else "extend" for c in joins})
    for name, first, last in [("l", 0x1100, 0x115F), ("l", 0xA960, 0xA97C), ("v", 0x1160, 0x11A7),
                              ("v", 0xD7B0, 0xD7C6), ("t", 0x11A8, 0x11FF), ("t", 0xD7CB, 0xD7FB),
                              ("regional", 0x1F1E6, 0x1F1FF)]:  # fmt: skip
        found.update({c: name for c in range(first, last + 1)})
    found.update({c: "lvt" if (c - 0xAC00) % 28 else "lv" for c in HANGUL})
    return {**found, 13: "cr", 10: "lf", 0x200D: "joiner"}


def kinds():
    """Code point -> general category | grapheme cluster break << 5 | flags of CLASSES from bit 9 on."""
    categories = {c: i for i, name in enumerate(CATEGORIES) if name != "Cs" for c in regex_class(rf"\p{{{name}}}")}
    breaks = {c: GRAPHEMES.index(name) for c, name in grapheme_breaks(categories).items()}
    flags = {name: regex_class(expression) for name, expression in CLASSES.items()}
    strip = normalizers.StripAccents()
    flags["accent"] = where(lambda s: strip.normalize_str(s) == "")
    bits = lambda c: sum(1 << (9 + i) for i, name in enumerate(flags) if c in flags[name])
    surrogate = CATEGORIES.index("Cs")
    return [categories.get(c, surrogate) | breaks.get(c, 0) << 5 | bits(c) for c in range(0x110000)]


def compositions(decomposed):
    """(first, second, composite), where NFC puts two code points together; Hangul is arithmetic."""
    nfc = normalizers.NFC()
    pairs = []
    for c, parts in sorted(decomposed.items()):
        if nfc.normalize_str(chr(c)) != chr(c):
            continue
        first = nfc.normalize_str("".join(map(chr, parts[:-1])))
        assert len(first) == 1 and nfc.normalize_str(first + chr(parts[-1])) == chr(c), hex(c)
        pairs.append((ord(first), parts[-1], c))
    return pairs


def decompositions(normalizer):
    found = {c: normalizer.normalize_str(chr(c)) for c in CODE_POINTS}
    for c in HANGUL:
        index = c - 0xAC00
        parts = [0x1100 + index // 588, 0x1161 + index % 588 // 28] + ([0x11A7 + index % 28] if index % 28 else [])
        assert [ord(x) for x in found[c]] == parts, hex(c)
    return {c: [ord(x) for x in s] for c, s in found.items() if s != chr(c) and c not in HANGUL}


def combining_classes(decomposed):
    """Canonical combining classes, from which pairs NFD puts into the other order."""
    nfd = normalizers.NFD()
    swaps = lambda a, b: a != b and nfd.normalize_str(a + b) == b + a
    reorders = lambda s: swaps(s, "\u0334") or swaps("\u0345", s)  # The lowest and the highest class, 1 and 240.
    marks = [c for c in CODE_POINTS if c not in decomposed and reorders(chr(c))]
    examples = {unicodedata.combining(chr(c)): chr(c) for c in reversed(marks)}
    classes = {}
    for c in marks:
        fitting = [k for k, e in examples.items() if k and not swaps(chr(c), e) and not swaps(e, chr(c))]
        assert len(fitting) == 1, (hex(c), fitting)
        classes[c] = fitting[0]
    return classes


def lower_case():
    lower = normalizers.Lowercase()
    found = {c: lower.normalize_str(chr(c)) for c in CODE_POINTS}
    changed = {c: s for c, s in found.items() if s != chr(c)}
    return {c: ord(s) for c, s in changed.items() if len(s) == 1}, {c: s for c, s in changed.items() if len(s) > 1}


def lower_runs(lower):
    """(first, last, step, distance): the code points first, first + step, ..., last move by distance."""
    runs = []
    for c in sorted(lower):
        distance = lower[c] - c
        if runs and runs[-1][3] == distance:
            first, last, step, _ = runs[-1]
            if c - last == step or (first == last and c - last in (1, 2)):
                runs[-1] = [first, c, c - last, distance]
                continue
        runs.append([c, c, 1, distance])
    return runs


def emit(kind, name, items):
    print(f"const {kind} {name}_data[] = {{")
    line = "   "
    for item in items:
        if len(line) + len(item) + 2 > 120:
            print(line)
            line = "   "
        line += f" {item},"
    print(line + "\n};")
    print(f"const std::span<const {kind}> {name}({name}_data);\n")


def emit_properties(table):
    changes, previous = [], 0
    for c in range(0x110000):
        flags = sum(1 << i for i, name in enumerate(FLAGS) if c in table[name])
        if flags != previous:
            changes.append(f"0x{c << 11 | flags:08X}")
        previous = flags
    print("// Code point << 11 | flags, where the flags change.")
    emit("std::uint32_t", "property_changes", changes)


def emit_kinds(table):
    changes = [c for c in range(0x110000) if c == 0 or table[c] != table[c - 1]]
    print("// Code point, kind (see KindRun), where the kind changes.")
    emit("KindRun", "kind_runs", [f"{{0x{c:X}, {table[c]}}}" for c in changes])


def emit_decompositions(name, decomposed):
    items = []
    for c, parts in sorted(decomposed.items()):
        items += [f"0x{len(parts) << 24 | c:X}"] + [f"0x{p:X}" for p in parts]
    print("// Length << 24 | code point, then its full decomposition; Hangul syllables are arithmetic.")
    emit("std::uint32_t", name, items)


def emit_combining_classes(classes):
    runs = []
    for c in sorted(classes):
        if runs and runs[-1][1] == c - 1 and runs[-1][2] == classes[c]:
            runs[-1][1] = c
        else:
            runs.append([c, c, classes[c]])
    emit("CombiningRun", "combining_runs", [f"{{0x{a:X}, 0x{b:X}, {k}}}" for a, b, k in runs])


def main():
    assert tokenizers.__version__.startswith("0.23."), tokenizers.__version__
    decomposed = decompositions(normalizers.NFD())
    compatible = decompositions(normalizers.NFKD())
    lower, lower_long = lower_case()
    assert lower_long == {0x130: "i\u0307"}, lower_long
    print(f"// Generated by tools/generate_unicode_tables.py from tokenizers {tokenizers.__version__}; do not edit.")
    print('#include "text/unicode_tables.h"\n\n// clang-format off\nnamespace assay::unicode {\n')
    emit_properties(properties())
    emit_decompositions("decompositions", decomposed)
    differing = {c: parts for c, parts in compatible.items() if decomposed.get(c) != parts}
    emit_decompositions("compatible_decompositions", differing)
    emit("Composition", "compositions", [f"{{0x{a:X}, 0x{b:X}, 0x{c:X}}}" for a, b, c in compositions(decomposed)])
    emit_kinds(kinds())
    emit_combining_classes(combining_classes(decomposed))
    emit("LowerRun", "lower_runs", [f"{{0x{a:X}, 0x{b:X}, {s}, {d}}}" for a, b, s, d in lower_runs(lower)])
    print("}  // namespace assay::unicode")


if __name__ == "__main__":
    sys.exit(main())

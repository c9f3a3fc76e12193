"""Keyword arguments as the words of a command line."""

import enum
import unittest
from pathlib import Path

import common
from assay import UserError
from assay._words import command_words, option_words


class Chosen(enum.Enum):
    best = "fp32"


class NoDimensions:
    """As numpy.array(8) and torch.tensor(8) are: iterable until somebody tries."""

    def __iter__(self):
        raise TypeError("iteration over a 0-d array")

    def item(self):
        return 8

    def __str__(self):
        return "tensor(8)"


class Words(unittest.TestCase):
    def test_each_kind_of_value(self):
        class Dtype:
            def __str__(self):
                return "torch.bfloat16"

        for name, value, words in [
            ("trial_seconds", 3, ["--trial-seconds=3"]),
            ("width", 0.05, ["--width=0.05"]),
            ("precision", ["fp32", "int8"], ["--precision=fp32,int8"]),
            ("batch", range(1, 4), ["--batch=1,2,3"]),
            ("precision", [Dtype()], ["--precision=bfloat16"]),
            ("with_", {"norm": "f16", "layers.0.*": "int8"}, ["--with=norm=f16,layers.0.*=int8"]),
            ("interleave", ("./old", "./new x"), ["--interleave", "./old", "./new x"]),
            ("emulated", True, ["--emulated"]),
            ("emulated", False, []),
            ("data", None, []),
            ("data", Path("a b.txt"), ["--data=a b.txt"]),
            ("data", "", ["--data="]),
            ("p", 16, ["-p", "16"]),
            ("data", b"a \xff.txt", ["--data=a \udcff.txt"]),
            ("batch", NoDimensions(), ["--batch=8"]),
            ("precision", Chosen.best, ["--precision=fp32"]),
            ("batch", [NoDimensions()], ["--batch=8"]),
            ("an_option_that_nobody_knows_yet", "-3", ["--an-option-that-nobody-knows-yet=-3"]),
        ]:
            with self.subTest(name=name, value=value):
                self.assertEqual(option_words(name, value), words)

    def test_what_is_empty_is_refused_by_name(self):
        for value in [[], (), {}, range(0), iter([])]:
            with self.subTest(value=value), self.assertRaisesRegex(UserError, "precision: is empty"):
                option_words("precision", value)

    def test_words_without_an_option_come_first_and_lists_one_by_one(self):
        self.assertEqual(command_words(["gpt2", [Path("a"), 7]], {"seq": [8]}), ["gpt2", "a", "7", "--seq=8"])

    def test_one_word_is_one_and_not_its_letters(self):
        for word in ["gpt2", b"gpt2", Path("gpt2")]:
            self.assertEqual(command_words(word, {}), ["gpt2"])

    def test_what_is_nested_is_refused(self):
        for words, options in [
            ([[["gpt2"]]], {}),
            ([], {"seq": [[8, 9], [10]]}),
            ([], {"seq": [iter([8])]}),
            ([], {"with_": {"norm": ["f16"]}}),
        ]:
            with self.assertRaisesRegex(UserError, "is no word"):
                command_words(words, options)

    def test_what_fails_while_it_is_read_says_so_itself(self):
        with self.assertRaises(TypeError):
            command_words([], {"seq": (int(one) for one in [None])})

    def test_what_no_word_can_hold_is_refused(self):
        for word, fault in [("gpt2\0", "zero byte"), ("gpt2\ud800", "characters")]:
            with self.assertRaisesRegex(UserError, fault):
                command_words([word], {})


assert common
if __name__ == "__main__":
    unittest.main()

"""Python's arguments as the words of a command line. Knows no command and no option: what there is the program says."""

from __future__ import annotations

import enum
import os
from collections.abc import Iterable, Mapping
from typing import Any

from assay.errors import UserError


def word_of(value: Any) -> str:
    """One value; `torch.bfloat16` as `bfloat16`, an array without dimensions as its number, bytes as a path has them.
    Raises UserError for what holds several."""
    if isinstance(value, enum.Enum):
        value = value.value
    if isinstance(value, (os.PathLike, bytes)):
        return os.fsdecode(value)
    if _items(value) is not None:
        raise UserError(f"{value!r}: is no word of a command line")
    if hasattr(value, "__iter__") and hasattr(value, "item"):
        value = value.item()
    return str(value).removeprefix("torch.")


def _items(value: Any) -> list[Any] | None:
    """Of what holds several; None of one word, and of an array without dimensions, which is iterable by its name only."""
    if isinstance(value, (str, bytes, os.PathLike)):
        return None
    try:
        items = iter(value)
    except TypeError:
        return None
    return list(items)


def _words_of(name: str, values: Iterable[Any]) -> list[str]:
    words = [word_of(value) for value in values]
    if not words:
        raise UserError(f"{name}: is empty; None leaves it out")
    return words


def option_words(name: str, value: Any) -> list[str]:
    """The words of one keyword argument:

    - `trial_seconds=3` is `--trial-seconds=3`; a trailing underscore (`with_=...`) goes, one letter is a short option
    - True is the option alone, False and None are nothing
    - a list, set or range is joined by commas, a mapping likewise as `key=value`; an empty one is a UserError
    - a tuple is the option with several words behind it: `interleave=("./old", "./new")`
    """
    letters = name.rstrip("_")
    option = "-" + letters if len(letters) == 1 else "--" + letters.replace("_", "-")
    if value is None or value is False:
        return []
    if value is True:
        return [option]
    if isinstance(value, tuple):
        return [option, *_words_of(name, value)]
    if isinstance(value, Mapping):
        text = ",".join(_words_of(name, (f"{word_of(key)}={word_of(one)}" for key, one in value.items())))
    else:
        items = _items(value)
        text = word_of(value) if items is None else ",".join(_words_of(name, items))
    return [option, text] if len(letters) == 1 else [f"{option}={text}"]


def command_words(words: Any, options: Mapping[str, Any]) -> list[str]:
    """Words without an option first, so that no option that takes several swallows them; lists of them one by one."""
    given: list[str] = []
    for one in [words] if (several := _items(words)) is None else several:
        items = _items(one)
        given += [word_of(one)] if items is None else map(word_of, items)
    for name, value in options.items():
        given += option_words(name, value)
    for word in given:
        _check_word(word)
    return given


def _check_word(word: str) -> None:
    if "\0" in word:
        raise UserError(f"{word!r}: no word of a command line can hold a zero byte")
    try:
        os.fsencode(word)
    except UnicodeEncodeError:
        raise UserError(f"{word!r}: has characters that no word of a command line can hold") from None

"""Every command of the program as a function: what it takes is the program's business."""

from __future__ import annotations

import functools
import re
import warnings
from typing import Any

from assay._program import Ended, Progress, ProgressCallback, check_ended, find_program, run_program
from assay._words import command_words
from assay.errors import DefectError, UnsavedWarning, UserError
from assay.results import Result

_UNSAVED = 4


@functools.cache
def _help_of(program: str, words: tuple[str, ...]) -> str:
    ended = run_program([*words, "--help"])
    check_ended(ended)
    if not ended.out:
        raise DefectError(f"{program}: its --help says nothing")
    return ended.out.decode("utf-8", "replace")


def help_of(*words: str) -> str:
    """`assay --help`, or of a command: its options and an example."""
    return _help_of(str(find_program()), tuple(command_words(words, {})))


def command_names() -> list[str]:
    """The commands that `assay --help` lists."""
    return re.findall(r"^  ([a-z][a-z-]*)  ", help_of(), re.MULTILINE)


def _writes_json(command: str, words: list[str]) -> bool:
    if "--help" in words or "-h" in words:
        return False
    form = [command, "--benchmark"] if "--benchmark" in words else [command]
    return "--json" in help_of(*form)


def show_progress(told: Progress) -> None:
    """Prints each step; what `progress=True` calls."""
    left = f", {told.seconds_left:.0f} s left" if told.seconds_left is not None else ""
    print(f"assay: {told.text}{left}", flush=True)


def _result_of(ended: Ended) -> Result | None:
    """None of what wrote nothing, or was torn apart."""
    result = Result(ended.out, ended.exit_code, ended.words, [line for line in ended.err.splitlines() if line.strip()])
    if not ended.out:
        return None
    try:
        result.data
    except DefectError:
        return None
    return result


def _judged(ended: Ended) -> Result:
    """The result, or the exception that the exit code means."""
    result = _result_of(ended)
    check_ended(ended, result)
    if ended.exit_code == _UNSAVED:
        warnings.warn(ended.message, UnsavedWarning, stacklevel=4)
    if result is None and ended.out:
        raise DefectError("what the program wrote is no JSON")
    return result if result is not None else Result(b"", ended.exit_code, ended.words)


def run(
    command: str,
    *words: Any,
    progress: ProgressCallback | bool | None = None,
    stdin: str | bytes = "",
    behind: Any = (),
    **options: Any,
) -> Result:
    """Runs `assay COMMAND` and returns what it found.

    command: as on the command line, "compare-training".
    words: what stands there without an option: models, files, numbers of runs; lists of them, too.
    progress: called with each `Progress`, in this thread; True prints them.
    stdin: what it reads there.
    behind: words behind `--`, another program's command line; or all of it in one string.
    options: every other keyword is an option of the command: `trial_seconds=3` is `--trial-seconds 3`, a list is joined
        by commas, a mapping as key=value, a tuple stands as several words, True is a flag; `assay.help_of(COMMAND)`
        lists them.

    Raises UserError, MachineError, DefectError with the program's one line, and Interrupted, a KeyboardInterrupt, whose
    `result` holds what was measured until then."""
    if "json" in options:
        raise UserError("json: the result holds it; Result.save writes it to a file")
    if not isinstance(command, str) or not command:
        raise UserError(f"{command!r}: is no command's name")
    callback = show_progress if progress is True else progress or None
    if callback is not None and not callable(callback):
        raise UserError(f"progress: {progress!r} is no function, True or None")
    text = _bytes_of(stdin)
    given = command_words([command, *words], options)
    if _writes_json(command, given):
        given.append("--json=-")
    other = command_words(() if behind is None else behind, {})
    if other:
        given += ["--", *other]
    return _judged(run_program(given, callback, text))


def _bytes_of(stdin: Any) -> bytes:
    if not isinstance(stdin, (str, bytes)):
        raise UserError(f"stdin: {stdin!r} is neither text nor bytes")
    try:
        return stdin.encode() if isinstance(stdin, str) else stdin
    except UnicodeEncodeError as fault:
        raise UserError(f"stdin: {fault}") from fault


class Command:
    """A command as a function: `bench("gpt2", precision=["fp32", "int8"])`. Its help is the program's."""

    def __init__(self, name: str, about: str):
        self.name = name
        self.__name__ = name.replace("-", "_")
        self.__qualname__ = self.__name__
        self.__module__ = "assay"
        self.__doc__ = f"{about}\n\n`assay {name}`; words, keywords and errors as `assay.run` says."

    def __call__(self, *words: Any, progress: ProgressCallback | bool | None = None, **options: Any) -> Result:
        return run(self.name, *words, progress=progress, **options)

    def help(self) -> str:
        """The command's options and an example, as the program has them."""
        return help_of(self.name)

    def __repr__(self) -> str:
        return f"<assay.{self.__name__}: assay {self.name}>"


def command_named(name: str) -> Command | None:
    """Any command of the program, this version's or a newer one's; None where it has none of that name."""
    command = name.rstrip("_").replace("_", "-")
    return Command(command, f"assay {command}") if command in command_names() else None

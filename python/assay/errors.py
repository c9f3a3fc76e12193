"""How a command of the program fails, by its exit code. The message is its one line, the thing at fault first."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.results import Result


class AssayError(Exception):
    """Every failure of the program."""

    exit_code: int = 1

    def __init__(self, message: str, result: Result | None = None):
        super().__init__(message)
        self.result = result
        """What was written all the same, as a grid of which this machine can run no cell."""


class UserError(AssayError, ValueError):
    """Something in what was given is wrong: an option, a file, a model."""

    exit_code = 2


class MachineError(AssayError, RuntimeError):
    """This machine or this build lacks something: memory, a driver, an instruction set, a registry, room on a disk."""

    exit_code = 3


class DefectError(AssayError, RuntimeError):
    """A defect of assay: it says so itself, a signal ended it, or what it wrote cannot be read."""

    exit_code = 70


class Interrupted(KeyboardInterrupt):
    """Ctrl-C; what was measured until then is in `result`, if the program had something to write."""

    exit_code = 130

    def __init__(self, message: str = "interrupted", result: Result | None = None):
        super().__init__(message)
        self.result = result


class UnsavedWarning(UserWarning):
    """Measured and returned, but not kept in the store (exit code 4)."""


_BY_CODE = {kind.exit_code: kind for kind in (UserError, MachineError, DefectError)}


_OF_A_RESULT = (0, 4, 9, 10)


def error_of(exit_code: int) -> type[AssayError] | None:
    """The exception that a code means; None for those that say something of a result."""
    return None if exit_code in _OF_A_RESULT else _BY_CODE.get(exit_code, DefectError)

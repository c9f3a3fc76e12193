"""assay: which numeric precision should this model use on this machine?

    import assay

    result = assay.bench("gpt2", precision=["fp32", "int8"], batch=[1, 8])
    for record in result.records:
        print(record.precision, record.batch, record.median_ms, record.trust)
    result.to_pandas()

Every command of the program is a function of that name: `bench`, `train`, `generate`, `compare`, `check`, `memory`,
`sensitivity`, `tune`, ... (`import_` for `assay import`; `assay measure` is `measure_program`, since `measure` marks a
phase of one's own). Nothing is bound: the program runs and its JSON is read.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from assay._commands import Command, command_named, command_names, help_of, run, show_progress
from assay._phases import Phase, measure, phases
from assay._program import Progress, find_program
from assay.errors import AssayError, DefectError, Interrupted, MachineError, UnsavedWarning, UserError
from assay.ledger import Ledger
from assay.records import Finding, LedgerInput, LedgerRow, Origin, Record
from assay.results import Result, Table

bench = Command("bench", "Measures models in every precision: speed, memory, energy, quality, and what really ran.")
train = Command("train", "Trains a model; with benchmark=True measures what a step costs.")
generate = Command("generate", "Goes on with a text through a cache of keys and values.")
compare = Command("compare", "Says which of two runs, files or commands is faster. `fail_if_slower`: exit_code is 9.")
check = Command("check", "Judges a published table, or a file of records, by itself and by physics.")
memory = Command("memory", "What a run or a training step will need, before it runs.")
sensitivity = Command("sensitivity", "Which layers can bear a precision.")
tune = Command("tune", "Finds the best mix of precisions by layer within a limit of quality.")


def measure_program(command: str | os.PathLike[str] | Sequence[Any], **options: Any) -> Result:
    """`assay measure`: any other program, held to the standard of a row:
    `measure_program(["python3", "train.py"], runs=6)`, or its whole command line in one string."""
    return run("measure", behind=command, **options)


def __getattr__(name: str) -> Any:
    if not name.startswith("_"):
        try:
            command = command_named(name)
        except AssayError as fault:
            raise AttributeError(f"module 'assay' has no attribute {name!r}; of the program's commands: {fault}") from fault
        if command is not None:
            return command
    raise AttributeError(f"module 'assay' has no attribute {name!r}, nor has the program such a command")


__all__ = [
    "AssayError",
    "Command",
    "DefectError",
    "Finding",
    "Interrupted",
    "Ledger",
    "LedgerInput",
    "LedgerRow",
    "MachineError",
    "Origin",
    "Phase",
    "Progress",
    "Record",
    "Result",
    "Table",
    "UnsavedWarning",
    "UserError",
    "bench",
    "check",
    "command_names",
    "compare",
    "find_program",
    "generate",
    "help_of",
    "measure",
    "measure_program",
    "memory",
    "phases",
    "run",
    "sensitivity",
    "show_progress",
    "train",
    "tune",
]

"""What was asked and what ran, operation by operation."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from assay.records import LedgerInput, LedgerRow, Record
from assay.results import data_frame

_SHOWN = ("path", "operation", "requested", "stored", "operand", "accumulator", "verdict", "kernel", "evidence")


class Ledger:
    """Rows of what ran: of a record (`Ledger(record.ledger, record.inputs)`, or `of_record`), or of PyTorch."""

    def __init__(self, rows: Sequence[LedgerRow], inputs: Sequence[LedgerInput] = ()):
        self.rows = list(rows)
        self.inputs = list(inputs)

    @classmethod
    def of_record(cls, record: Record) -> Ledger:
        """What ran in a cell that assay measured."""
        return cls(record.ledger, record.inputs)

    @classmethod
    def of_torch(cls, module: Any, inputs: Any = (), kwargs: Mapping[str, Any] | None = None) -> Ledger:
        """Runs a torch.nn.Module once, as it is called, under torch.profiler, and says what PyTorch itself ran in for
        each of its modules: which operation, on tensors of which types, in which library's kernel, multiplying what.

        inputs: a tensor, or a tuple of what the module is called with; kwargs: by name. Gradients, autocast and device
        are the caller's. A row's `verdict` is `native` where a kernel's own name or its library's log says that it
        multiplies the tensors' type, `widened` where that is known to be computed in a longer one, `emulated` where
        the processor lacks the instruction or reference loops ran; `evidence` says how it is known.
        """
        from assay._torch_ledger import ledger_of_torch

        arguments = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
        return cls(*ledger_of_torch(module, arguments, dict(kwargs or {})))

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[LedgerRow]:
        return iter(self.rows)

    def of(self, path: str) -> list[LedgerRow]:
        """The rows of a module and of what is in it; "" is all."""
        return [row for row in self.rows if not path or row.path == path or (row.path or "").startswith(path + ".")]

    def summary(self) -> Counter[tuple[str | None, str | None, str | None]]:
        """How many rows ran so: (operation, operand, verdict) -> rows."""
        return Counter((row.operation, row.operand, row.verdict) for row in self.rows)

    def to_pandas(self) -> Any:
        """A pandas.DataFrame, a row each."""
        return data_frame([row.to_json() for row in self.rows])

    def __str__(self) -> str:
        cells = [_SHOWN[:-1], *([str(getattr(row, name) or "") for name in _SHOWN[:-1]] for row in self.rows)]
        widths = [max(len(line[at]) for line in cells) for at in range(len(_SHOWN) - 1)]
        return "\n".join("  ".join(text.ljust(width) for text, width in zip(line, widths)).rstrip() for line in cells)

    def __repr__(self) -> str:
        return f"<assay.Ledger of {len(self.rows)} operations>"

    def _repr_html_(self) -> str:
        def line(cells: Sequence[object], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{html.escape(str(cell or ''))}</{tag}>" for cell in cells) + "</tr>"

        body = "".join(line([getattr(row, name) for name in _SHOWN], "td") for row in self.rows)
        return f"<table><thead>{line(_SHOWN, 'th')}</thead><tbody>{body}</tbody></table>"

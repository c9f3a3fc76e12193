"""What a command found."""

from __future__ import annotations

import html
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from assay._program import check_ended, run_program
from assay.errors import AssayError, DefectError, UserError
from assay.records import Finding, Origin, Record

_PAGE_HEIGHT = 900
_Read = TypeVar("_Read")


def _at(json_value: Any, key: str) -> Any:
    """What stands under "a", "a.b" or "a.0.b"; a dot within a name is written ~1, a tilde ~0. None where nothing does."""
    for part in key.split("."):
        name = part.replace("~1", ".").replace("~0", "~")
        if isinstance(json_value, list) and name.isdigit() and int(name) < len(json_value):
            json_value = json_value[int(name)]
        elif isinstance(json_value, dict) and name in json_value:
            json_value = json_value[name]
        else:
            return None
    return json_value


def data_frame(rows: list[dict[str, Any]]) -> Any:
    """A pandas.DataFrame. Raises ImportError, in words, where pandas is not installed."""
    try:
        import pandas  # type: ignore[import-untyped, unused-ignore]
    except ImportError as missing:
        raise ImportError("to_pandas needs pandas: pip install pandas") from missing
    return pandas.DataFrame(rows)


@dataclass(frozen=True)
class Table:
    """A table of a result: its rows are the plain objects that the JSON holds."""

    key: str
    caption: str
    columns: list[dict[str, Any]]
    """Of each its key, title, unit and meaning."""
    rows: list[dict[str, Any]]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def to_pandas(self) -> Any:
        """A pandas.DataFrame, a row each."""
        return data_frame(self.rows)


class Result:
    """What a command wrote: `records`, typed, of one that measures; `tables` of any; everything as it stands in `data`.

    In a notebook it shows the page that `assay report --html` makes: charts, tables, findings, methods."""

    def __init__(
        self, out: bytes, exit_code: int = 0, words: list[str] | None = None, remarks: list[str] | None = None
    ):
        self._out = out
        self.exit_code = exit_code
        """0; 4: not kept in the store; 9: slower than allowed (`compare`); 10: `check`, `verify`: something stands."""
        self.words = words or []
        """The command line behind the program's name."""
        self.remarks = remarks or []
        """The lines that it wrote to standard error."""
        self._file: Path | None = None

    @classmethod
    def load(cls, file: str | os.PathLike[str]) -> Result:
        """A file that --json or `save` wrote. Raises UserError where it holds anything else."""
        result = cls(Path(file).read_bytes())
        result._file = Path(file)
        if not result.data:
            raise result._fault("is no JSON")
        return result

    def _fault(self, what: str) -> AssayError:
        """Of what cannot be read: a file is the user's, what the program has just written is not."""
        return UserError(f"{self._file}: {what}") if self._file else DefectError(f"what the program wrote {what}")

    def _read(self, what: str, read: Callable[[], _Read]) -> _Read:
        try:
            return read()
        except (AttributeError, KeyError, TypeError, ValueError) as fault:
            raise self._fault(f"has {what} that are not as the program writes them") from fault

    @cached_property
    def text(self) -> str:
        """What the program wrote, as it is."""
        return self._out.decode("utf-8", "replace")

    @cached_property
    def data(self) -> dict[str, Any]:
        """The JSON; empty of a command that writes none."""
        if not self._out.lstrip().startswith((b"{", b"[")):
            return {}
        try:
            read: dict[str, Any] = json.loads(self._out)
            return read
        except (ValueError, RecursionError) as broken:
            raise self._fault(f"is no JSON: {broken}") from broken

    def __getitem__(self, key: str) -> Any:
        """A member of the JSON: `result["machine"]`."""
        return self.data[key]

    @cached_property
    def records(self) -> list[Record]:
        """Every cell that was measured, with samples and ledger."""
        return self._read("records", lambda: [Record.from_json(one) for one in _at(self.data, "records") or []])

    @cached_property
    def findings(self) -> list[Finding]:
        """What the rules say of them."""
        found = _at(self.data, "findings") or []
        return self._read("findings", lambda: [Finding.from_json(one) for one in found if isinstance(one, dict)])

    @cached_property
    def origin(self) -> Origin | None:
        """Date, command, commit and seal."""
        origin = _at(self.data, "origin")
        return None if origin is None else self._read("facts of origin", lambda: Origin.from_json(origin))

    @cached_property
    def tables(self) -> dict[str, Table]:
        """The tables under their keys, in their order; one whose key has dots stands within another's rows."""
        return self._read("tables", self._tables)

    def _tables(self) -> dict[str, Table]:
        tables = {}
        for one in _at(self.data, "document.tables") or []:
            rows = _at(self.data, one["key"]) or []
            rows = [rows] if isinstance(rows, dict) else list(rows)
            tables[one["key"]] = Table(one["key"], one.get("caption", ""), one.get("columns", []), rows)
        return tables

    @property
    def is_partial(self) -> bool:
        """Whether Ctrl-C ended it before everything was measured."""
        return self.exit_code == 130

    def to_pandas(self, table: str | None = None) -> Any:
        """A pandas.DataFrame of the records, a row each; of the table of that key; of the first table where there are
        no records."""
        if table is not None:
            return self.tables[table].to_pandas()
        if self.records or not self.tables:
            return data_frame([flat(record) for record in self.records])
        return next(iter(self.tables.values())).to_pandas()

    def save(self, file: str | os.PathLike[str]) -> None:
        """Writes what the program wrote: `assay report`, `compare`, `import` and `verify` read it."""
        Path(file).write_bytes(self._out)

    def report(self, **options: Any) -> str:
        """What `assay report` makes of it: with `html="-"` a page, with `markdown="-"` tables, without anything the
        text of a terminal."""
        from assay._words import command_words

        with tempfile.TemporaryDirectory(prefix="assay-") as folder:
            file = Path(folder) / "result.json"
            self.save(file)
            ended = run_program(["report", str(file), *command_words([], options)])
        check_ended(ended)
        return ended.out.decode("utf-8", "replace")

    def __str__(self) -> str:
        if not self.data:
            return self.text
        written = _at(self.data, "text")
        if isinstance(written, list) and all(isinstance(one, str) for one in written):
            return "\n".join(written)  # What `generate` went on with, a row each.
        try:
            return self.report()
        except (AssayError, OSError):
            return self.text

    def __repr__(self) -> str:
        parts = [" ".join(self.words)] if self.words else []
        parts += [f"{len(self.records)} records"] if self.records else []
        parts += [f"tables {', '.join(self.tables)}"] if self.tables else []
        return f"<assay.Result {'; '.join(parts)}>"

    def _repr_html_(self) -> str:
        try:
            page = self.report(html="-") if self.data else ""
        except (AssayError, OSError):
            page = ""
        if not page:
            return f"<pre>{html.escape(str(self))}</pre>"
        # A frame: the page has styles and a script of its own, which are not to meet the notebook's.
        return (
            f'<iframe srcdoc="{html.escape(page)}" sandbox="allow-scripts" width="100%" height="{_PAGE_HEIGHT}" '
            'style="border: 0" title="assay report"></iframe>'
        )


def flat(record: Record) -> dict[str, Any]:
    """A record's fields under their names, and what a newer program wrote beside them."""
    return {one.name: getattr(record, one.name) for one in fields(record) if one.name != "extra"} | record.extra

"""Tells `assay measure` which phase of a program runs.

    import assay_markers as assay

    with assay.phase("forward", items=32):
        loss = model(batch)

Copy this one file or put its folder on PYTHONPATH; it needs nothing else. Where the program does not run under `assay
measure` (the environment names no descriptor) all of this does nothing. A device that works on its own time must be
waited for inside the phase (torch.cuda.synchronize()), else its work is counted elsewhere.
"""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def _open() -> int | None:
    """The inherited pipe, or None. A descriptor that this process got by chance under that number is not taken."""
    try:
        descriptor = int(os.environ["ASSAY_MARKERS_FD"])
        facts = os.fstat(descriptor)
    except (KeyError, ValueError, OSError):
        return None
    inode = os.environ.get("ASSAY_MARKERS_INODE", str(facts.st_ino))
    return descriptor if stat.S_ISFIFO(facts.st_mode) and inode == str(facts.st_ino) else None


_descriptor = _open()


def is_measured() -> bool:
    """Whether somebody listens."""
    return _descriptor is not None


def _shortened(name: object) -> str:
    """At most 100 bytes of UTF-8, whole characters."""
    return str(name).encode("utf-8", "replace")[:100].decode("utf-8", "ignore") or "_"


def _number(items: Any) -> float | None:
    """What can be a number of items (a tensor of one element too), else None."""
    try:
        number = float(items)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if 0 <= number <= 1e15 else None


def mark(phase: object, at: str, items: Any = None) -> None:
    """Writes one line: `at` is "begin" or "end". What it costs, some microseconds, lies in the phase at its begin and
    outside at its end."""
    global _descriptor
    if _descriptor is None:
        return
    line: dict[str, Any] = {"phase": _shortened(phase), "at": at, "time": time.clock_gettime(time.CLOCK_MONOTONIC)}
    if items is not None and _number(items) is not None:
        line["items"] = _number(items)
    try:
        os.write(_descriptor, (json.dumps(line) + "\n").encode())  # Shorter than PIPE_BUF: never torn apart.
    except OSError:
        _descriptor = None  # The listener has gone; the program goes on.


@contextmanager
def phase(name: object, items: Any = None) -> Iterator[None]:
    """A phase lasts as long as the block, however it ends."""
    mark(name, "begin", items)
    try:
        yield
    finally:
        mark(name, "end")

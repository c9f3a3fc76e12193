"""Phases of one's own program."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import assay_markers


@dataclass
class Phase:
    """A phase as this process timed it: the samples of every time it ran."""

    name: str
    times_ms: list[float] = field(default_factory=list)
    items: list[float | None] = field(default_factory=list)

    @property
    def median_ms(self) -> float:
        """Of what was timed until now, which must be something."""
        ordered = sorted(self.times_ms)
        return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


_phases: dict[str, Phase] = {}


@contextmanager
def measure(name: str, items: float | None = None, wait: Callable[[], object] | None = None) -> Iterator[Phase]:
    """A phase of this program, as long as the block, however it ends:

        with assay.measure("forward", items=32):
            loss = model(batch)

    Under `assay measure -- python3 train.py` the phase is a row of its table, held to all that a row is held to:
    rounds, intervals, energy, what else ran. Without it the block's time stands in `assay.phases()`, and nothing more
    is known of it.

    items: of what its rate is counted, as tokens.
    wait: called before the clock is read at either end: torch.cuda.synchronize, where a device works on its own
        time."""
    phase = _phases.setdefault(name, Phase(name))
    if wait is not None:
        wait()
    with assay_markers.phase(name, items):
        start = time.perf_counter()
        try:
            yield phase
            if wait is not None:
                wait()
        finally:
            phase.times_ms.append((time.perf_counter() - start) * 1e3)
            phase.items.append(items)


def phases() -> dict[str, Phase]:
    """What `measure` timed in this process, by name."""
    return dict(_phases)

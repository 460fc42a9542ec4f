"""Event sets that come and go: what a life costs, and what 100,000 of them leave behind."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.table import Row, Table, verdict
from gnomon.counters import EventSet

_LIVES = 100_000
_NAMES = "task-clock,page-faults,minor-faults,major-faults"


def run(rounds: int) -> Table:  # noqa: ARG001
    """Return microseconds per life of a set of 4 software events, and what is left after all."""
    lives: dict[str, Callable[[], None]] = {
        "made and closed": lambda: EventSet(_NAMES).close(),
        "started, read, stopped, closed": lambda: _counted(EventSet(_NAMES)),
        "the same, inherited": lambda: _counted(EventSet(_NAMES, inherit=True)),
        "the same, of two components": lambda: _counted(EventSet(f"{_NAMES},tsc:::cycles")),
        "the same, in turns of our thread": lambda: _counted(
            EventSet(_NAMES, multiplex=True, limit=1)
        ),
    }
    # The first software event of its kind makes the kernel patch its code, and the last one again.
    kept = EventSet(_NAMES)
    for live in lives.values():
        live()
    before = _held()
    rows = []
    each = _LIVES // len(lives)
    for name, live in lives.items():
        begin = time.perf_counter()
        for _ in range(each):
            live()
        rows.append(Row(name, "", 1e6 * (time.perf_counter() - begin) / each))
    after = _held()
    kept.close()
    left = (now - then for now, then in zip(after, before, strict=True))
    limits = [
        verdict(f"{what} left after {_LIVES:,} sets", float(n), 0, "")
        for what, n in zip(("descriptors", "threads"), left, strict=True)
    ]
    return Table("leaks", "us", rows, limits)


def _counted(events: EventSet) -> None:
    events.start()
    events.read()
    events.stop()
    events.close()


def _held() -> tuple[int, int]:
    own = Path("/proc/self")
    return len(list((own / "fd").iterdir())), len(list((own / "task").iterdir()))

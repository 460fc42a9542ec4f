"""Sampled runs, made of stacks: the model's tables as the recorder of samples leaves them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from view_runs import HEAD

from gnomon.model.tables import (
    LOCATIONS,
    METRICS,
    PATHS,
    PROFILE,
    REGIONS,
    SAMPLES,
    Schema,
    Table,
)
from gnomon.store import run_directory

PERIOD = 0.001
"""Seconds of CPU time that a sample of the clock stands for."""


class Frame(NamedTuple):
    """A function at a line of it; `is_inlined` is None where nobody told."""

    function: str
    file: str = ""
    line: int = 0
    module: str = "app"
    is_inlined: bool | None = None


class Event(NamedTuple):
    """A metric of samples, and how much of it one stands for."""

    name: str = "CPU time"
    unit: str = "s"
    weight: float = PERIOD


class Thread(NamedTuple):
    """Where samples are taken."""

    rank: int = -1
    pid: int = 100
    tid: int = 100
    name: str = "app"


class Sample(NamedTuple):
    """A stack, the outermost frame first, and where it was seen."""

    stack: tuple[Frame, ...]
    thread: int = 0
    event: int = 0
    repetition: int = 0


CLOCK = Event()


def write(
    path: Path,
    samples: Iterable[Sample],
    *,
    threads: Sequence[Thread] = (Thread(),),
    events: Sequence[Event] = (CLOCK,),
    head: Mapping[str, Any] | None = None,
) -> Path:
    """Write a run of samples and return its path."""
    rows = _Rows(threads)
    for sample in samples:
        rows.add(sample)
    tables = rows.tables(events)
    run_directory.write(str(path), {**HEAD, **(head or {})}, tables, {})
    return path


class _Rows:
    """Rows of the model's tables, as samples come."""

    def __init__(self, threads: Sequence[Thread]) -> None:
        self._threads = threads
        self._regions: dict[Frame, int] = {}
        self._paths: dict[tuple[int, int], int] = {}
        self._parents = [-1]
        self._inclusive: Counter[tuple[int, int, int, int]] = Counter()
        self._exclusive: Counter[tuple[int, int, int, int]] = Counter()
        self._samples: list[tuple[int, int, int, int]] = []

    def add(self, sample: Sample) -> None:
        """Count a sample on each path of its stack."""
        path = 0
        where = (sample.repetition, sample.thread, sample.event)
        self._inclusive[*where, path] += 1
        for frame in sample.stack:
            region = self._regions.setdefault(frame, len(self._regions) + 1)
            number = self._paths.setdefault((path, region), len(self._paths) + 1)
            if number == len(self._parents):
                self._parents.append(path)
            path = number
            self._inclusive[*where, path] += 1
        self._exclusive[*where, path] += 1
        self._samples.append((*where, path))

    def tables(self, events: Sequence[Event]) -> list[Table]:
        """Return the tables of a run."""
        processes = list(dict.fromkeys((one.rank, one.pid) for one in self._threads))
        first = 1 + len(processes)
        threads = [
            (first + at, 1 + processes.index((one.rank, one.pid)), "thread", "node1", *one)
            for at, one in enumerate(self._threads)
        ]
        rows: dict[Schema, list[tuple[Any, ...]]] = {
            LOCATIONS: [
                (0, -1, "command", "node1", -1, 100, -1, "app"),
                *((1 + at, 0, "process", "node1", *one, -1, "app")
                  for at, one in enumerate(processes)),
                *threads,
            ],
            REGIONS: [
                (0, "hpm", "app", "app", "", 0),
                *((number, "cpu", one.function, one.module, one.file, one.line, one.is_inlined)
                  for one, number in self._regions.items()),
            ],
            PATHS: [
                (0, -1, 0),
                *((number, above, region) for (above, region), number in self._paths.items()),
            ],
            METRICS: [
                (at, one.name, one.unit, "", "sampled", "samples", "all", "thread",
                 f"{one.name}, sampled", "sum", True, False, False)
                for at, one in enumerate(events)
            ],
            PROFILE: [
                (repetition, first + thread, path, event, n * events[event].weight,
                 self._exclusive[repetition, thread, event, path] * events[event].weight,
                 None, n, None, None)
                for (repetition, thread, event, path), n in self._inclusive.items()
            ],
            SAMPLES: [
                (repetition, first + thread, path, event, None, None, events[event].weight)
                for repetition, thread, event, path in self._samples
            ],
        }  # fmt: skip
        return [Table(schema, rows[schema]) for schema in rows]


def random_stack(random: Random, functions: Sequence[Frame], deepest: int) -> tuple[Frame, ...]:
    """Return a stack of functions, which may call themselves and each other."""
    return tuple(random.choices(functions, k=random.randint(1, deepest)))

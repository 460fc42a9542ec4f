"""Runs made for the view: any forest of paths and places, written through the real store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gnomon.model.tables import LOCATIONS, METRICS, PATHS, PROFILE, REGIONS, Schema, Table
from gnomon.store import run_directory

HEAD: dict[str, Any] = {
    "command": ["./app", "a b"], "hosts": [{"name": "node1", "cpus": 4}], "started": 1.7e9,
    "wall_seconds": 2.5, "exit_status": 0, "repetitions": 1, "unavailable": [],
    "warnings": ["take care"], "working_directory": "",
}  # fmt: skip


class Place(NamedTuple):
    """A location: number of its parent (-1 for none), kind, rank and thread."""

    parent: int
    kind: str
    rank: int = -1
    tid: int = -1


class Region(NamedTuple):
    """A path's parent (-1 for none) and region."""

    parent: int
    kind: str
    name: str
    file: str = ""
    line: int = 0
    module: str = "app"


class Value(NamedTuple):
    """A row of the profile."""

    location: int
    path: int
    metric: int
    inclusive: float | None
    exclusive: float | None
    repetition: int = 0
    calls: int | None = None
    raw: int | None = None


class Quantity(NamedTuple):
    """A metric."""

    name: str
    unit: str = ""
    formula: str = ""
    how: str = "counted"
    component: str = "kernel"
    aggregation: str | None = None


def write(
    path: Path,
    places: Sequence[Place],
    regions: Sequence[Region],
    metrics: Sequence[Quantity],
    values: Sequence[Value],
    head: Mapping[str, Any] | None = None,
    more: Sequence[Table] = (),
    hosts: Mapping[int, str] | None = None,
) -> Path:
    """Write a run directory, with tables that it may have, and return its path.

    Every location is on node1, but for those that `hosts` has.
    """
    rows: dict[Schema, list[tuple[Any, ...]]] = {
        LOCATIONS: [
            (at, one.parent, one.kind, (hosts or {}).get(at, "node1"), one.rank,
             100 + max(one.rank, 0), one.tid, "app")
            for at, one in enumerate(places)
        ],
        REGIONS: [
            (at, one.kind, one.name, one.module, one.file, one.line)
            for at, one in enumerate(regions)
        ],
        PATHS: [(at, one.parent, at) for at, one in enumerate(regions)],
        METRICS: [
            (at, one.name, one.unit, one.formula, one.how, one.component, "all", "process", "",
             one.aggregation, None, None, None)
            for at, one in enumerate(metrics)
        ],
        PROFILE: [
            (one.repetition, one.location, one.path, one.metric, one.inclusive, one.exclusive,
             one.calls, one.raw, None, None)
            for one in values
        ],
    }  # fmt: skip
    tables = [*(Table(schema, rows[schema]) for schema in rows), *more]
    return run_directory.write(str(path), {**HEAD, **(head or {})}, tables, {})


def ranks(path: Path, *, threads: int = 2, count: int = 3) -> Path:
    """Write a run of some ranks with threads, a section in a section and lines of functions.

    Thread t of rank r has r * 10 + t of `steps` in section `solve` and half of that in `halo`
    within; `cycles` are ten times as many; `steps_per_cycle` is recorded for the whole run alone.
    """
    places = [Place(-1, "command")]
    values: list[Value] = []
    total = 0.0
    for rank in range(count):
        places.append(Place(0, "process", rank))
        process = len(places) - 1
        for thread in range(threads):
            places.append(Place(process, "thread", rank, 1000 * rank + thread))
            one = float(rank * 10 + thread + 1)
            total += one
            for metric, factor in ((0, 1.0), (1, 10.0)):
                at = len(places) - 1
                values += [
                    Value(at, 1, metric, one * factor, one * factor / 2, calls=2),
                    Value(at, 2, metric, one * factor / 2, one * factor / 2, calls=4),
                ]
    values += [
        Value(0, 0, 0, total, 0.0, calls=1), Value(0, 0, 1, 10 * total, 0.0, calls=1),
        Value(0, 0, 2, 0.1, None),
    ]  # fmt: skip
    regions = [
        Region(-1, "hpm", "app"),
        Region(0, "hpm", "solve", "/src/solve.c", 10),
        Region(1, "hpm", "halo", "/src/halo.c", 20),
    ]
    metrics = [
        Quantity("steps"), Quantity("cycles"),
        Quantity("steps_per_cycle", "", "steps / cycles", component=""),
    ]  # fmt: skip
    return write(path, places, regions, metrics, values)

"""Made-up runs with repetitions, written and read through the real store; measured noise."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from math import exp
from pathlib import Path
from typing import Any

from gnomon.model.tables import LOCATIONS, METRICS, PATHS, PROFILE, REGIONS, Table
from gnomon.store import run_directory

NOISE: dict[str, list[list[float]]] = json.loads(
    (Path(__file__).parents[1] / "measured" / "noise.json").read_text()
)["programs"]
HOST = {"name": "node1", "cpu_model": "A CPU", "cpus": 4}
UNITS = {"wall time": "ns", "user time": "ns", "task-clock": "ns"}

QUIET = [100.0, 101, 99, 100, 102, 98, 100, 101, 99, 100]


def times(factor: float = 1.0) -> list[float]:
    """Return times in ns as a quiet machine has them, around a tenth of a second."""
    return [value * 1e6 * factor for value in QUIET]


def noisy(rng: random.Random, program: str, n: int, slower: float = 0.0) -> list[float]:
    """Return times in ns: noise of one program, within sessions, around a tenth of a second."""
    around = 1e8 * (1 + slower)
    found = []
    for _ in range(n):
        session = rng.choice(NOISE[program])
        middle = sorted(session)[len(session) // 2]
        found.append(around * exp(rng.choice(session) - middle))
    return found


def rewritten(file: Path, replaced: str) -> None:
    """Replace columns of one table of a run."""
    import duckdb

    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t AS SELECT * REPLACE ({replaced}) FROM '{file}'")
        connection.execute(f"COPY t TO '{file}' (FORMAT parquet)")


def repeated_run(
    folder: Path,
    name: str,
    metrics: Mapping[str, Sequence[float]],
    *,
    how: Mapping[str, str] | None = None,
    unit: Mapping[str, str] | None = None,
    component: Mapping[str, str] | None = None,
    formula: Mapping[str, str] | None = None,
    tasks: Sequence[tuple[str, str, int, Mapping[str, Sequence[float]]]] = (),
    lines: Sequence[tuple[str, str, str, int, Mapping[str, Sequence[float]]]] = (),
    sections: Sequence[tuple[str, str, str, Mapping[str, Sequence[float]]]] = (),
    head: Mapping[str, Any] | None = None,
) -> Path:
    """Write a run and return its path.

    Args:
        folder: where.
        name: of the run.
        metrics: values of the whole command, one for each repetition.
        how: of metrics that are not counted.
        unit: of metrics that `UNITS` has not.
        component: of metrics; "" if not given.
        formula: of metrics that are derived.
        tasks: kind, name, rank and values of each process or thread.
        lines: program, function, file, line and values of each line.
        sections: kind, names from the outermost to its own with "/" between, "process" or the name
            of one of its threads, and values of each region at each place.
        head: what differs in run.json.
    """
    repetitions = max(map(len, metrics.values()))
    whole: dict[str, Any] = {
        "command": ["./app"], "hosts": [HOST], "started": 1.7e9, "wall_seconds": 0.1,
        "exit_status": 0, "repetitions": repetitions, "unavailable": [], "warnings": [],
    }  # fmt: skip
    locations, regions, paths = Table(LOCATIONS), Table(REGIONS), Table(PATHS)
    table, profile = Table(METRICS), Table(PROFILE)
    regions.add(region=0, kind="hpm", name="app", module="app", file="", line=0)
    paths.add(path=0, parent=-1, region=0)
    numbers = {}
    for at, metric in enumerate(metrics):
        numbers[metric] = at
        table.add(
            metric=at, name=metric, unit={**UNITS, **(unit or {})}.get(metric, ""),
            formula=(formula or {}).get(metric, ""), how=(how or {}).get(metric, "counted"),
            component=(component or {}).get(metric, ""), domain="all", scope="process",
            description="",
        )  # fmt: skip

    def add(repetition: int, location: int, path: int, metric: str, value: float) -> None:
        profile.add(
            repetition=repetition, location=location, path=path, metric=numbers[metric],
            inclusive=value, exclusive=value, calls=1, raw=None, enabled_ns=None, running_ns=None,
        )  # fmt: skip

    def location(kind: str, label: str, rank: int, parent: int = -1) -> int:
        at = len(locations)
        return locations.add(location=at, parent=parent, kind=kind, host="node1", rank=rank,
                             pid=100 + at, tid=-1, name=label)  # fmt: skip

    for repetition in range(repetitions):
        command = location("command", "app", -1)
        for metric, values in metrics.items():
            if repetition < len(values):
                add(repetition, command, 0, metric, values[repetition])
        for kind, label, rank, of_task in tasks:
            task = location(kind, label, rank)
            for metric, values in of_task.items():
                add(repetition, task, 0, metric, values[repetition])
    for program, function, file, line, of_line in lines:
        region = regions.add(region=len(regions), kind="cpu", name=function, module=program,
                             file=file, line=line)  # fmt: skip
        path = paths.add(path=len(paths), parent=0, region=region)
        for metric, values in of_line.items():
            for repetition, value in enumerate(values):
                if value:
                    add(repetition, repetition, path, metric, value)
    if sections:
        process = location("process", "app", -1)
    of_names: dict[tuple[str, ...], int] = {(): 0}
    of_places = {"process": process} if sections else {}
    for kind, joined, place, of_section in sections:
        names = tuple(joined.split("/"))
        if names not in of_names:
            region = regions.add(region=len(regions), kind=kind, name=names[-1], module="app",
                                 file="", line=0)  # fmt: skip
            above = of_names[names[:-1]]
            of_names[names] = paths.add(path=len(paths), parent=above, region=region)
        if place not in of_places:
            of_places[place] = location("thread", place, -1, process)
        for metric, values in of_section.items():
            for repetition, value in enumerate(values):
                add(repetition, of_places[place], of_names[names], metric, value)
    return run_directory.write(
        str(folder / name),
        {**whole, **(head or {})},
        (locations, regions, paths, table, profile),
        {},
    )

"""A made-up run of two ranks, with sections of whole processes and of single threads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gnomon.model.tables import LOCATIONS, METRICS, PATHS, PROFILE, REGIONS, Table
from gnomon.store import run_directory

# Of two ranks: (kind, rank, parent), then what each came to: (place, path, metric, with its parts,
# without). Sections of whole processes ("solve") and of one thread ("sweep").
PLACES = (("command", -1, -1), ("rank", 0, 0), ("process", 0, 1), ("thread", 0, 2),
          ("rank", 1, 0), ("process", 1, 4), ("thread", 1, 5))  # fmt: skip
VALUES = (
    *((0, 0, "task-clock", 100, 30), (0, 0, "wall time", 60, None)),
    *((1, 0, "task-clock", 40, 10), (1, 0, "wall time", 55, 25)),
    *((2, 0, "task-clock", 40, 10), (2, 1, "task-clock", 30, 30), (2, 1, "wall time", 30, 30)),
    *((3, 0, "task-clock", 40, 38), (3, 2, "task-clock", 2, 2), (3, 2, "wall time", 3, 3)),
    *((4, 0, "task-clock", 60, 20), (4, 0, "wall time", 60, 15)),
    *((5, 0, "task-clock", 60, 20), (5, 1, "task-clock", 40, 40), (5, 1, "wall time", 45, 45)),
    *((6, 0, "task-clock", 60, 56), (6, 2, "task-clock", 4, 4), (6, 2, "wall time", 5, 5)),
)


def job_run(folder: Path, called: str) -> Path:
    """Write the run and return its path."""
    tables = {
        schema.name: Table(schema) for schema in (LOCATIONS, REGIONS, PATHS, METRICS, PROFILE)
    }
    for at, (kind, rank, parent) in enumerate(PLACES):
        tables["locations"].add(location=at, parent=parent, kind=kind, host="node1", rank=rank,
                                pid=7, tid=-1, name="app")  # fmt: skip
    for at, name in enumerate(("app", "solve", "sweep")):
        tables["regions"].add(region=at, kind="hpm", name=name, module="app", file="", line=0)
        tables["paths"].add(path=at, parent=0 if at else -1, region=at)
    names = ("task-clock", "wall time")
    for at, name in enumerate(names):
        tables["metrics"].add(metric=at, name=name, unit="ns", formula="", how="counted",
                              component="", domain="all", scope="", description="")  # fmt: skip
    for place, path, metric, inclusive, exclusive in VALUES:
        tables["profile"].add(
            repetition=0, location=place, path=path, metric=names.index(metric), raw=None,
            inclusive=float(inclusive), exclusive=None if exclusive is None else float(exclusive),
            calls=1, enabled_ns=None, running_ns=None,
        )  # fmt: skip
    head: dict[str, Any] = {
        "command": ["./app"], "hosts": [{"name": "node1"}], "started": 1.7e9, "wall_seconds": 0.1,
        "exit_status": 0, "repetitions": 1, "unavailable": [], "warnings": [], "ranks": 2,
    }  # fmt: skip
    return run_directory.write(str(folder / called), head, list(tables.values()), {})

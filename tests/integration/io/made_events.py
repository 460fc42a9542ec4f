"""Events of calls on files, put into a run that has sums alone."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from gnomon.model.tables import EVENTS, Table
from gnomon.store.parquet_writer import write_table
from gnomon.store.run import Run


class MadeCall(NamedTuple):
    """A call of a process: the `process`-th of the run that have calls on files."""

    name: str
    file: str
    access: str = ""
    offset: int | None = None
    size: int | None = None
    opening: int | None = 0
    process: int = 0
    start_ns: int | None = None
    duration_ns: int = 1000


def add_events(folder: Path, calls: Iterable[MadeCall]) -> None:
    """Write them, each 2 µs behind the one before where it has no start of its own."""
    head = json.loads((folder / "run.json").read_text())
    run = Run(folder, head)
    regions: dict[str, int] = {
        name: region
        for region, name in run.query("SELECT region, name FROM regions WHERE kind = 'io'")
    }
    paths = dict(run.query("SELECT region, path FROM paths"))
    files = {Path(name).name: file for file, name in run.query("SELECT file, name FROM files")}
    locations = [
        location
        for (location,) in run.query(
            "SELECT location FROM locations WHERE kind = 'process' ORDER BY location"
        )
    ]
    table = Table(EVENTS)
    begin = int(head["started"] * 1e9)
    for number, call in enumerate(calls):
        region = regions[call.name]
        start = begin + (2000 * number if call.start_ns is None else call.start_ns)
        table.append(
            (
                0, locations[call.process], region, paths[region], start, call.duration_ns,
                call.size, files[call.file], call.access, call.size, call.offset, call.opening,
            )
        )  # fmt: skip
    write_table(folder, EVENTS, [table])
    head["tables"].append("events")
    (folder / "run.json").write_text(json.dumps(head))

"""Made-up runs of the emulated PMU, written and read through the real store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gnomon.model.tables import LOCATIONS, METRICS, PATHS, PROFILE, REGIONS, Table
from gnomon.store import run_directory
from gnomon.store.run import Run

EVENTS = ("PAPI_TOT_INS", "PAPI_LD_INS", "PAPI_L1_DCM", "PAPI_BR_MSP")
STARTED = 1.7e9
Row = tuple[str, str, str, int, Sequence[float | None]]


def made_run(
    folder: Path,
    rows: Sequence[Row],
    *,
    events: Sequence[str] = EVENTS,
    name: str = "run",
    component: str = "emulated",
    head: Mapping[str, Any] | None = None,
) -> Run:
    """Return a run whose lines are (program, function, file, line, count of each event)."""
    whole: dict[str, Any] = {
        "command": ["./app"], "hosts": [{"name": "node1"}], "started": STARTED,
        "wall_seconds": 2.5, "exit_status": 0, "repetitions": 1, "unavailable": [],
        "warnings": ["a note of many words " * 12],
    }  # fmt: skip
    locations, regions, paths = Table(LOCATIONS), Table(REGIONS), Table(PATHS)
    metrics, profile = Table(METRICS), Table(PROFILE)
    locations.add(location=0, parent=-1, kind="command", host="node1", rank=-1, pid=7, tid=-1,
                  name="app")  # fmt: skip
    regions.add(region=0, kind="hpm", name="app", module="app", file="", line=0)
    paths.add(path=0, parent=-1, region=0)

    def value(path: int, metric: int, count: float | None, inclusive: float | None) -> None:
        profile.add(
            repetition=0, location=0, path=path, metric=metric, inclusive=inclusive,
            exclusive=count, calls=1, raw=None, enabled_ns=None, running_ns=None,
        )  # fmt: skip

    how = "emulated" if component == "emulated" else "counted"
    units = [("wall time", "ns", "counted", ""), *((event, "", how, component) for event in events)]
    for at, (event, unit, marked, source) in enumerate(units):
        metrics.add(
            metric=at, name=event, unit=unit, formula="", how=marked, component=source,
            domain="user", scope="process", description="",
        )  # fmt: skip
    value(0, 0, 2.5e9, 2.5e9)
    for at in range(len(events)):
        value(0, at + 1, 0, sum(row[4][at] or 0 for row in rows))
    for program, function, file, line, counts in rows:
        region = regions.add(
            region=len(regions), kind="cpu", name=function, module=program, file=file,
            line=line,
        )  # fmt: skip
        path = paths.add(path=len(paths), parent=0, region=region)
        for at, count in enumerate(counts):
            if count != 0:
                value(path, at + 1, count, count)
    tables = (locations, regions, paths, metrics, profile)
    run_directory.write(str(folder / name), {**whole, **(head or {})}, tables, {})
    return run_directory.find(str(folder / name))

"""Runs as sampling makes them: of stacks, with the values that plain loops over these give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from gnomon.model.tables import (
    LOCATIONS,
    METRICS,
    PATHS,
    PROFILE,
    REGIONS,
    SAMPLES,
    Table,
)
from gnomon.store import run_directory

SECONDS_EACH = 0.01
HEAD = {
    "command": ["./app"], "hosts": [{"name": "node1", "cpus": 4}], "started": 1.7e9,
    "wall_seconds": 2.5, "exit_status": 0, "repetitions": 1, "unavailable": [], "warnings": [],
    "working_directory": "",
}  # fmt: skip


class Frame(NamedTuple):
    """A function at a line: of a call, or where it ran."""

    function: str
    line: int = 0
    file: str = "/src/app.cpp"
    module: str = "app"


class Stack(NamedTuple):
    """Samples of one stack, outermost frame first."""

    frames: Sequence[Frame]
    samples: int
    tid: int = 100
    rank: int = -1


def write(path: Path, stacks: Sequence[Stack], events: Mapping[str, float] | None = None) -> Path:
    """Write a run of sampled stacks and return its path.

    Args:
        path: of the run directory.
        stacks: each sampled so often.
        events: other events that were sampled with CPU time: so much of each a sample.
    """
    locations, regions, paths = Table(LOCATIONS), Table(REGIONS), Table(PATHS)
    metrics, profile, samples = Table(METRICS), Table(PROFILE), Table(SAMPLES)
    weights = {"CPU time": SECONDS_EACH} | dict(events or {})
    for number, name in enumerate(weights):
        metrics.add(
            metric=number, name=name, unit="s" if name == "CPU time" else "", formula="",
            how="sampled", component="samples", domain="user", scope="thread",
            description=f"{name}, sampled", aggregation="sum", absent_is_zero=True,
            reproducible=False, dilated=False,
        )  # fmt: skip
    place_of: dict[tuple[int, int], int] = {}
    locations.add(location=0, parent=-1, kind="command", host="node1", rank=-1, pid=-1, tid=-1,
                  name="app")  # fmt: skip
    process_of: dict[int, int] = {}
    for stack in stacks:
        if stack.rank not in process_of:
            process_of[stack.rank] = locations.add(
                location=len(locations), parent=0, kind="process", host="node1", rank=stack.rank,
                pid=50 + stack.rank, tid=-1, name="app",
            )  # fmt: skip
        if (stack.rank, stack.tid) not in place_of:
            place_of[stack.rank, stack.tid] = locations.add(
                location=len(locations), parent=process_of[stack.rank], kind="thread",
                host="node1", rank=stack.rank, pid=50 + stack.rank, tid=stack.tid, name="app",
            )  # fmt: skip
    regions.add(region=0, kind="hpm", name="app", module="app", file="", line=0)
    paths.add(path=0, parent=-1, region=0)
    region_of: dict[Frame, int] = {}
    path_of: dict[tuple[int, Frame], int] = {}
    inclusive: dict[tuple[int, int], int] = {}
    exclusive: dict[tuple[int, int], int] = {}
    for stack in stacks:
        place = place_of[stack.rank, stack.tid]
        at = 0
        inclusive[place, at] = inclusive.get((place, at), 0) + stack.samples
        for frame in stack.frames:
            if frame not in region_of:
                region_of[frame] = regions.add(
                    region=len(regions), kind="cpu", name=frame.function, module=frame.module,
                    file=frame.file, line=frame.line,
                )  # fmt: skip
            key = (at, frame)
            if key not in path_of:
                path_of[key] = paths.add(path=len(paths), parent=at, region=region_of[frame])
            at = path_of[key]
            inclusive[place, at] = inclusive.get((place, at), 0) + stack.samples
        exclusive[place, at] = exclusive.get((place, at), 0) + stack.samples
        for number, weight in enumerate(weights.values()):
            for _ in range(stack.samples):
                samples.add(repetition=0, location=place, path=at, metric=number,
                            time_ns=len(samples), weight=weight)  # fmt: skip
    for (place, at), count in inclusive.items():
        for number, weight in enumerate(weights.values()):
            profile.add(
                repetition=0, location=place, path=at, metric=number, inclusive=count * weight,
                exclusive=exclusive.get((place, at), 0) * weight, raw=count,
            )  # fmt: skip
    tables = (locations, regions, paths, metrics, profile, samples)
    return run_directory.write(str(path), HEAD, tables, {})

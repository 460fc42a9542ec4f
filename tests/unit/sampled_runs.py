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
EACH_NS = 10_000_000
STARTED_NS = 1_700_000_000 * 10**9
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
    """Samples of one stack, outermost frame first, or a wait as long as these.

    A thread has its stacks one after the other, from the beginning of the run on.
    """

    frames: Sequence[Frame]
    samples: int
    tid: int = 100
    rank: int = -1
    wait: str = ""


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
    has_waits = any(stack.wait for stack in stacks)
    for number, name in enumerate(weights):
        metrics.add(
            metric=number, name=name, unit="s" if name == "CPU time" else "", formula="",
            how="sampled", component="samples", domain="user", scope="thread",
            description=f"{name}, sampled", aggregation="sum", absent_is_zero=True,
            reproducible=False, dilated=False,
        )  # fmt: skip
    if has_waits:
        metrics.add(
            metric=len(weights), name="Waiting time", unit="s", formula="", how="counted",
            component="samples", domain="all", scope="thread", description="time of waits",
            aggregation="sum", absent_is_zero=True, reproducible=False, dilated=False,
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
    region_of: dict[tuple[str, Frame], int] = {}
    clocks: dict[int, int] = {}
    path_of: dict[tuple[int, Frame], int] = {}
    inclusive: dict[tuple[int, int, bool], int] = {}
    exclusive: dict[tuple[int, int, bool], int] = {}
    for stack in stacks:
        place = place_of[stack.rank, stack.tid]
        is_wait = stack.wait != ""
        at = 0
        key = (place, at, is_wait)
        inclusive[key] = inclusive.get(key, 0) + stack.samples
        called = [("cpu", frame) for frame in stack.frames]
        if is_wait:
            called.append(("wait", Frame(stack.wait, file="", module="")))
        for kind, frame in called:
            if (kind, frame) not in region_of:
                region_of[kind, frame] = regions.add(
                    region=len(regions), kind=kind, name=frame.function, module=frame.module,
                    file=frame.file, line=frame.line,
                )  # fmt: skip
            if (at, frame) not in path_of:
                path_of[at, frame] = paths.add(
                    path=len(paths), parent=at, region=region_of[kind, frame]
                )
            at = path_of[at, frame]
            key = (place, at, is_wait)
            inclusive[key] = inclusive.get(key, 0) + stack.samples
        exclusive[key] = exclusive.get(key, 0) + stack.samples
        clock = clocks.get(place, STARTED_NS)
        clocks[place] = clock + stack.samples * EACH_NS
        if is_wait:
            samples.add(repetition=0, location=place, path=at, metric=len(weights),
                        time_ns=clock, weight=stack.samples * SECONDS_EACH)  # fmt: skip
            continue
        for number, weight in enumerate(weights.values()):
            for nth in range(stack.samples):
                samples.add(repetition=0, location=place, path=at, metric=number,
                            time_ns=clock + (nth + 1) * EACH_NS, weight=weight)  # fmt: skip
    for (place, at, is_wait), count in inclusive.items():
        own = exclusive.get((place, at, is_wait), 0)
        of = {len(weights): SECONDS_EACH} if is_wait else dict(enumerate(weights.values()))
        for number, weight in of.items():
            profile.add(
                repetition=0, location=place, path=at, metric=number, inclusive=count * weight,
                exclusive=own * weight, raw=1 if is_wait else count,
            )  # fmt: skip
    tables = (locations, regions, paths, metrics, profile, samples)
    return run_directory.write(str(path), HEAD, tables, {})

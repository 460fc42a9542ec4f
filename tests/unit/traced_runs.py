"""Runs with calls on files that were recorded one by one, every one of them known."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import view_runs
from view_runs import Place, Quantity, Region, Value

from gnomon.io import io_metrics
from gnomon.model.tables import EVENTS, FILES, SAMPLES, Table

SAMPLE_NS = 10_000_000
STARTED_NS = 1_700_000_000 * 10**9
CALLS = {"read": 41, "pread": 42, "write": 43, "pwrite": 44, "open": 45, "fread": 46, "fwrite": 47}
"""Calls, and the line that each is made from."""
_ACCESS = {"read": "read", "pread": "read", "fread": "read", "write": "write", "pwrite": "write",
           "fwrite": "write"}  # fmt: skip


class Call(NamedTuple):
    """A call of a process: from which moment on, and what it did to which file.

    Attributes:
        rank: of the process.
        name: one of `CALLS`, or a routine of MPI.
        file: number of the file, -1 for none.
        start: nanoseconds since the run began.
        duration: nanoseconds.
        offset: where in the file it began, None where not known.
        bytes: how many were moved; None where it failed, and for calls that move none.
        asked: how many were to be moved; None for `bytes`.
        opening: number of the open file.
    """

    rank: int
    name: str
    file: int
    start: int
    duration: int
    offset: int | None = None
    bytes: int | None = None
    asked: int | None = None
    opening: int = 1

    @property
    def access(self) -> str:
        """How it accesses the file."""
        return _ACCESS.get(self.name, "")


def write(
    path: Path, calls: Sequence[Call], files: Sequence[str], *, ranks: int = 1, samples: int = 0
) -> Path:
    """Write a run of calls and return its path.

    Args:
        path: of the run directory.
        calls: what processes did.
        files: their names, by number.
        ranks: how many processes there are: ranks of MPI if there are several.
        samples: so many samples of CPU time, 10 ms each, are there of each process.
    """
    routines = sorted({call.name for call in calls} - CALLS.keys())
    regions = [
        Region(-1, "hpm", "app"),
        Region(0, "cpu", "sweep", "/src/app.c", 30),
        *(Region(1, "io", name, "/src/app.c", line) for name, line in CALLS.items()),
        *(Region(1, "mpi", name, "/src/app.c", 60) for name in routines),
    ]
    region_of = {region.name: at for at, region in enumerate(regions)}
    has_ranks = ranks > 1
    places = [Place(-1, "command")]
    places += [Place(0, "process", rank if has_ranks else -1) for rank in range(ranks)]
    events, opened_files, sampled = Table(EVENTS), Table(FILES), Table(SAMPLES)
    sums: dict[tuple[int, int], list[float]] = {}
    for call in calls:
        region = region_of[call.name]
        events.add(
            repetition=0, location=1 + call.rank, region=region, path=region,
            start_ns=STARTED_NS + call.start, duration_ns=call.duration, bytes=call.bytes,
            file=call.file, access=call.access,
            asked=call.bytes if call.asked is None else call.asked, file_offset=call.offset,
            opening=call.opening,
        )  # fmt: skip
        total = sums.setdefault((1 + call.rank, region), [0.0, 0.0, 0.0])
        for at, value in enumerate((1, call.duration, call.bytes or 0)):
            total[at] += value
    for number, name in enumerate(files):
        opened_files.add(file=number, name=name, host="", kind="file", filesystem="ext4")
    metrics = [
        Quantity(io_metrics.TIME, "ns", component=io_metrics.COMPONENT, aggregation="sum"),
        Quantity(io_metrics.DELIVERED, "bytes", component=io_metrics.COMPONENT, aggregation="sum"),
    ]
    values = [
        Value(location, region, metric, own[1 + metric], own[1 + metric], 0, int(own[0]))
        for (location, region), own in sums.items()
        for metric in range(len(metrics))
    ]
    if samples:
        metrics.append(Quantity("CPU time", "s", how="sampled", component="samples",
                                aggregation="sum"))  # fmt: skip
        for location in range(1, ranks + 1):
            own = samples * SAMPLE_NS / 1e9
            values.append(Value(location, 0, 2, own, 0.0, raw=samples))
            values.append(Value(location, 1, 2, own, own, raw=samples))
            for nth in range(samples):
                sampled.add(
                    repetition=0, location=location, path=1, metric=2, weight=0.01,
                    time_ns=STARTED_NS + (nth + 1) * SAMPLE_NS,
                )  # fmt: skip
    more = [events, opened_files, *([sampled] if samples else [])]
    return view_runs.write(path, places, regions, metrics, values, more=more)

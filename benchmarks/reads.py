"""Reading events: floor is the raw read(2) of the group, peer Python's own os.read of it."""

from __future__ import annotations

import os
import timeit

from benchmarks.build import columns, program
from benchmarks.table import Row, Table, interleaved, verdict
from gnomon.counters import EventSet

_EVENTS = (
    "task-clock", "page-faults", "context-switches", "cpu-migrations", "minor-faults",
    "major-faults", "alignment-faults", "emulation-faults",
)  # fmt: skip
_CALLS = 20000


def run(rounds: int) -> Table:
    """Return nanoseconds per read of 1, 4 and 8 software events."""
    rows: list[Row] = []
    limits: list[str] = []
    for n in (1, 4, 8):
        raw, core, raw_cycle, core_cycle = columns(program("bench_reads"), str(n), str(rounds))
        python = _python(n, rounds)
        rows += [
            Row(f"{n} events: raw read(2) in C", "floor" if n == 1 else "", raw),
            Row(f"{n} events: gn_group_read in C", "", core),
            Row(f"{n} events: raw reset, enable, read, disable", "", raw_cycle),
            Row(f"{n} events: the same through gn_group", "", core_cycle),
            Row(f"{n} events: os.read in Python", "peer" if n == 1 else "", python["os.read"]),
            Row(f"{n} events: EventSet.read in Python", "", python["read"]),
            Row(f"{n} events: and one typed value", "", python["value"]),
        ]
        limits += [
            verdict(f"{n} events: gn_group_read ÷ raw read", core / raw, 1.05, "×"),
            verdict(
                f"{n} events: EventSet.read above the C read", python["read"] - core, 150, "ns"
            ),
        ]
    return Table("reads", "ns", rows, limits)


def _python(n: int, rounds: int) -> dict[str, float]:
    events = EventSet(",".join(_EVENTS[:n]))
    events.start()
    group = events.group
    assert group is not None
    fd, size, read = group.fds[0], 8 * (3 + n), events.read

    def timed(statement: str) -> float:
        names = {"read": read, "os_read": os.read, "fd": fd, "size": size}
        return 1e9 * timeit.timeit(statement, number=_CALLS, globals=names) / _CALLS

    try:
        return interleaved(
            rounds,
            {
                "os.read": lambda: timed("os_read(fd, size)"),
                "read": lambda: timed("read()"),
                "value": lambda: timed("read()[0].value"),
            },
        )
    finally:
        events.close()

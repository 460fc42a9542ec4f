"""Reading the clock: floor and peer are the vDSO's clock_gettime(CLOCK_MONOTONIC_RAW)."""

from __future__ import annotations

from benchmarks.build import columns, program
from benchmarks.table import Row, Table


def run(rounds: int) -> Table:
    """Return nanoseconds per call in C."""
    vdso, core, virtual = columns(program("bench_clocks"), str(rounds))
    return Table(
        "clocks",
        "ns",
        [
            Row("clock_gettime(CLOCK_MONOTONIC_RAW), vDSO", "floor", vdso),
            Row("gn_clock_ns", "", core),
            Row("gn_clock_virtual_ns (thread CPU time)", "", virtual),
        ],
        [],
    )

"""Event sets in C: floor is the bare system calls, peer is PAPI (where libpapi is installed)."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from benchmarks.build import lines, program
from benchmarks.table import Row, Table, verdict

# operation: what it is bare, and how many times as long libgnomon may take
_OPERATIONS = (
    ("read", "read(2) of the group", 1.05),
    ("start and stop", "ioctl reset and enable, read, ioctl disable", 1.1),
    ("reset", "one ioctl on the group", 1.1),
    ("accumulate", "read, ioctl reset", 1.1),
    ("set up and tear down", "open, close", 1.5),
    ("real nanoseconds", "vDSO clock_gettime(CLOCK_MONOTONIC)", 1.3),
)


def run(rounds: int) -> Table:
    """Return nanoseconds per operation on sets of 1, 4 and 8 software events."""
    rows: list[Row] = []
    limits: list[str] = []
    for n in (1, 4, 8):
        columns = list(zip(*lines(program("bench_sets"), str(n), str(rounds)), strict=True))
        for i, (operation, bare, limit) in enumerate(_OPERATIONS):
            raw, own, papi = columns[3 * i : 3 * i + 3]
            name = f"{n} events: {operation}"
            rows += [
                Row(f"{name}: {bare}", "", median(raw)),
                Row(f"{name}: libgnomon", "", median(own)),
            ]
            if any(papi):
                rows.append(Row(f"{name}: PAPI", "", median(papi)))
                limits.append(f"{name}: PAPI ÷ bare: {_ratio(papi, raw):.2f} ×")
            limits.append(verdict(f"{name}: libgnomon ÷ bare", _ratio(own, raw), limit, "×"))
    return Table("sets", "ns", rows, limits)


def _ratio(figures: Sequence[float], floor: Sequence[float]) -> float:
    """Return the median ratio of what was measured one right after the other."""
    return median(one / other for one, other in zip(figures, floor, strict=True))

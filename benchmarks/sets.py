"""Event sets in C: floor is the bare system calls, peer is PAPI (where libpapi is installed)."""

from __future__ import annotations

from benchmarks.build import columns, program
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
        figures = columns(program("bench_sets"), str(n), str(rounds))
        for i, (operation, bare, limit) in enumerate(_OPERATIONS):
            raw, own, papi = figures[3 * i : 3 * i + 3]
            name = f"{n} events: {operation}"
            rows += [Row(f"{name}: {bare}", "", raw), Row(f"{name}: libgnomon", "", own)]
            if papi:
                rows.append(Row(f"{name}: PAPI", "", papi))
                limits.append(f"{name}: PAPI ÷ bare: {papi / raw:.2f} ×")
            limits.append(verdict(f"{name}: libgnomon ÷ bare", own / raw, limit, "×"))
    return Table("sets", "ns", rows, limits)

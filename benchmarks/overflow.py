"""An overflow: floor is a bare signal handler of a perf event, peer is PAPI if it is installed."""

from __future__ import annotations

from statistics import median

from benchmarks.build import lines, program
from benchmarks.table import Row, Table, verdict

LIMIT = 1.2


# A round takes a tenth of a second: many of them outlast what else the machine does.
_ROUNDS = 10


def run(rounds: int) -> Table:
    """Return nanoseconds that an overflow takes on top of the page fault that it counts."""
    measured = lines(program("bench_overflow"), str(_ROUNDS * rounds))
    # What was measured one right after the other is compared, round by round.
    extra = [[ns - line[0] for ns in line] for line in measured]
    _, bare, own, papi = (median(column) for column in zip(*extra, strict=True))
    rows = [
        Row("a page fault that nobody watches", "", median(line[0] for line in measured)),
        Row("an overflow: bare signal handler", "floor", bare),
        Row("an overflow: gn_set_overflow", "", own),
    ]
    limits = [_verdict(extra, 2, "gn_set_overflow", LIMIT)]
    if any(line[3] for line in measured):
        rows.append(Row("an overflow: PAPI_overflow", "peer", papi))
        limits.append(_verdict(extra, 3, "PAPI_overflow", None))
    return Table("overflow", "ns", rows, limits)


def _verdict(extra: list[list[float]], column: int, what: str, limit: float | None) -> str:
    ratio = median(line[column] / line[1] for line in extra)
    what = f"{what} ÷ bare signal handler"
    return f"{what}: {ratio:.2f} ×" if limit is None else verdict(what, ratio, limit, "×")

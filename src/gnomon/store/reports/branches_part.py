"""The part `branches` of a report: which branches are frequent, which are mispredicted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gnomon.errors import GnomonError, UsageError
from gnomon.model.symbol_names import short_name
from gnomon.named_tuple import NamedTuple
from gnomon.store.hotspots import named
from gnomon.store.reports.report_part import (
    HOW,
    METRIC,
    TOP,
    UNIT,
    Key,
    PartData,
    PartText,
    Request,
)
from gnomon.store.reports.run_facts import title
from gnomon.store.reports.table_report import GAP, INDENT, UNKNOWN
from gnomon.terminal_text import filled, grid, widths
from gnomon.units import number, printable

if TYPE_CHECKING:
    from gnomon.store.run import Run

_NAME_LEAST = 12
_ABSENT = "-"
_METRICS = """
SELECT COALESCE(m.name, ''), COALESCE(m.unit, ''), COALESCE(m.how, ''), m.metric
FROM branches b JOIN metrics m USING (metric)
GROUP BY ALL ORDER BY SUM(b.taken) DESC, 1, 4
"""
_ENDS = ("from", "to")
_CODE = ", ".join(
    f"COALESCE({end}_code.{name}, {absent})"
    for end in _ENDS
    for name, absent in (("name", "''"), ("module", "''"), ("file", "''"), ("line", "0"))
)
_JOINS = " ".join(
    f"LEFT JOIN regions {end}_code ON {end}_code.region = b.{end}_region" for end in _ENDS
)
_ROWS = f"""
SELECT {_CODE}, COALESCE(SUM(b.taken), 0) AS n, COALESCE(SUM(b.predictions), 0),
    SUM(b.mispredicted), COALESCE(SUM(b.timings), 0), SUM(b.cycles)
FROM branches b {_JOINS} WHERE b.metric = {{metric}} GROUP BY ALL
ORDER BY n DESC, 1, 2, 3, 4, 5, 6, 7, 8
"""


_KEYS = (
    *(
        Key(f"{end}_{name}", type_, f"of the code that is {verb}: {text}")
        for end, verb in (("from", "left"), ("to", "entered"))
        for name, type_, text in (
            ("function", "string", "function, empty where it is not known"),
            ("module", "string", "program or library"),
            ("file", "string", "source file, empty where it is not known"),
            ("line", "integer", "source line, 0 where it is not known"),
        )
    ),
    METRIC._replace(text="before samples of what they were recorded"), UNIT, HOW,
    Key("taken", "integer", "how many branches were recorded, in all executions"),
    Key("predictions", "integer", "of how many of these it is known whether they were predicted"),
    Key("mispredicted", "integer", "how many of those were not; null if it is known of none",
        is_nullable=True),
    Key("timings", "integer", "of how many of these the cycles are known"),
    Key("cycles", "integer", "since the branches before them, of all those; null if known of none",
        is_nullable=True),
)  # fmt: skip


class BranchMetric(NamedTuple):
    """A metric before whose samples branches were recorded, as the run has it."""

    name: str
    unit: str
    how: str
    number: int


class Branch(NamedTuple):
    """Branches from one line to another, of all threads and executions.

    Attributes:
        from_function, from_module, from_file: what is left; "" where it is not known.
        from_line: 0 where it is not known.
        to_function, to_module, to_file, to_line: what is entered, likewise.
        taken: how many were recorded.
        predictions: of how many of these it is known whether they were predicted.
        mispredicted: how many of those were not; None if it is known of none.
        timings: of how many of these the cycles are known.
        cycles: the sum of those; None if they are known of none.
    """

    from_function: str
    from_module: str
    from_file: str
    from_line: int
    to_function: str
    to_module: str
    to_file: str
    to_line: int
    taken: int
    predictions: int
    mispredicted: int | None
    timings: int
    cycles: int | None

    @property
    def origin(self) -> str:
        """Where it leads from, as `function:line`."""
        return _place(self.from_function, self.from_line)

    @property
    def target(self) -> str:
        """Where it leads to, likewise."""
        return _place(self.to_function, self.to_line)


class Branches(NamedTuple):
    """Branches that a PMU recorded before samples, the most frequent first."""

    name: str = "branches"
    title: str = "branches of a run with --branches, the most frequent first"
    by: tuple[str, ...] = ()
    argument: str = ""
    options: frozenset[str] = frozenset(("metrics", "top"))
    keys: tuple[Key, ...] = _KEYS

    def is_in(self, run: Run) -> bool:
        """Return whether the run has branches."""
        return bool(run.query("SELECT 1 FROM branches LIMIT 1"))

    def text(self, run: Run, request: Request) -> PartText:
        """Return a table of those of one metric.

        Raises:
            GnomonError: the run has none.
        """
        metric, others, branches = _branches(run, request)
        total = sum(branch.taken for branch in branches)
        top = TOP if request.top is None else request.top
        shown = branches[:top] if top else branches
        lines = [
            title(run, request.width),
            printable(f"{metric.name}: {number(total)} branches were recorded"),
        ]
        lines += _table(shown, total, request.width)
        if len(branches) > len(shown):
            lines.append(f"  and {number(len(branches) - len(shown))} more (--top 0 for all)")
        lines += _legend(shown, request.width)
        if others:
            told = printable(f"choose with -e: {', '.join(others)}")
            lines += filled(told, request.width, "", "  ")
        return PartText("\n".join(lines) + "\n")

    def data(self, run: Run, request: Request) -> PartData:
        """Return a row for each of one metric; raises as `text`."""
        metric, _, branches = _branches(run, request)
        of_metric = {"metric": metric.name, "unit": metric.unit, "how": metric.how}
        shown = branches[: request.top or None]
        return PartData([{**branch._asdict(), **of_metric} for branch in shown])


def _branches(run: Run, request: Request) -> tuple[BranchMetric, list[str], list[Branch]]:
    """Return the metric that was asked for or has most, the names of others, and its branches.

    Raises:
        UsageError: there is no such metric, or several were asked for.
        GnomonError: there are no branches.
    """
    if len(request.metrics) > 1:
        raise UsageError("branches are of one event: give -e once")
    metrics = [BranchMetric(*row) for row in run.query(_METRICS)]
    if not metrics:
        raise GnomonError(
            f"{run.path}: it has no branches; record them where the PMU does: gnomon record "
            "--branches"
        )
    names = [metric.name for metric in metrics]
    name = named(request.metrics[0], names, "branch record") if request.metrics else names[0]
    metric = metrics[names.index(name)]
    rows = run.query(_ROWS.format(metric=metric.number))
    return metric, [other for other in names if other != name], [Branch(*row) for row in rows]


def _table(branches: Sequence[Branch], total: int, width: int) -> list[str]:
    columns = {
        "share": [f"{100 * one.taken / total:.1f} %" if total else _ABSENT for one in branches],
        "mispredicted": [_mispredicted(one) for one in branches],
        "cycles": [_mean_cycles(one) for one in branches],
    }
    told = {head: cells for head, cells in columns.items() if set(cells) != {_ABSENT}}
    ends = [
        [printable(one.origin) for one in branches],
        [printable(one.target) for one in branches],
    ]
    fixed = sum(max(map(len, (head, *cells))) + GAP for head, cells in told.items())
    room = max(width - INDENT - fixed - GAP, 2 * _NAME_LEAST)
    wide = widths([max(map(len, texts)) for texts in ends], [room // 2] * 2, room)
    short = [
        [short_name(text, most) for text in texts] for texts, most in zip(ends, wide, strict=True)
    ]
    cells = list(zip(*told.values(), *short, strict=True))
    return list(grid([(head,) for head in (*told, *_ENDS)], cells, len(told)).lines)


def _legend(branches: Sequence[Branch], width: int) -> list[str]:
    told = []
    if any(branch.predictions for branch in branches):
        told.append("mispredicted: of those whose prediction is known")
    if any(branch.timings for branch in branches):
        told.append("cycles: since the branch before, mean")
    return filled("; ".join(told), width) if told else []


def _mispredicted(branch: Branch) -> str:
    if branch.mispredicted is None or not branch.predictions:
        return _ABSENT
    return f"{100 * branch.mispredicted / branch.predictions:.1f} %"


def _mean_cycles(branch: Branch) -> str:
    if branch.cycles is None or not branch.timings:
        return _ABSENT
    return f"{branch.cycles / branch.timings:.1f}"


def _place(function: str, line: int) -> str:
    if not function:
        return UNKNOWN
    return f"{function}:{line}" if line else function

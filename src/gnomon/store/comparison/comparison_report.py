"""A comparison of runs as text that fits the terminal."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

from gnomon.model.symbol_names import short_name
from gnomon.store.comparison.headline import bare, headline, notation, shares, verdict
from gnomon.store.comparison.model import Breach, Comparison, ComparisonRow
from gnomon.store.reports.run_facts import started_text
from gnomon.terminal_text import cut, filled, grid, short_path, shortened, suffixes
from gnomon.units import number, printable, quantity

_HEADS = ("before", "after", "change", "95 % range", "verdict")
_LEAST_NAME = 12
_LEAST_PLACE = 14
_WIDE_ENOUGH_FOR_DATES = 80
_LABEL_MOST = 30
_COMMAND_LEAST = 10
_UNJUDGED_LEAST = 16
_REACH = _HEADS.index("95 % range")
_OF_TOTAL = 3
_UNIT_MOST = 5
_INDENT = 2
_GAP = 2


def render_comparison(
    comparisons: Sequence[Comparison],
    breaches: Sequence[Breach],
    *,
    width: int,
    top: int = 0,
    limited: bool = False,
) -> str:
    """Return the report of comparisons.

    Args:
        comparisons: of each side with the baseline.
        breaches: what is worse than a limit allows.
        width: columns of the terminal.
        top: only so many places; 0 for all.
        limited: there were limits.
    """
    lines: list[str] = []
    for comparison in comparisons:
        lines += [*_sides(comparison, width), ""]
        lines += [*said, ""] if (said := headline(comparison, width)) else []
        nothing = [row for row in comparison.whole if not row.before and not row.after]
        nothing = [row for row in nothing if not row.unjudged and not row.verdict]
        lines += _table([row for row in comparison.whole if row not in nothing], "metric", width)
        if nothing:
            names = ", ".join(printable(row.metric) for row in nothing)
            lines += filled(f"zero on both sides: {names}", width, "  ", "    ")
        lines += _unjudged(comparison.whole, width)
        if comparison.per:
            lines += ["", *_places(comparison, width, top)]
        lines += [""] if comparison.notes else []
        for note in comparison.notes:
            lines += filled(f"note: {printable(note)}", width, "", "      ")
        lines.append("")
    if limited:
        lines += _limits(breaches, width)
    return "\n".join(lines).rstrip("\n") + "\n"


def _sides(one: Comparison, width: int) -> list[str]:
    lines = []
    for word, side in (("before", one.baseline), ("after", one.other)):
        command = printable(shlex.join(side.runs[0].head["command"])) or "attached process"
        n = side.repetitions
        runs = "" if len(side.runs) == 1 else f"{len(side.runs)} runs, "
        when = started_text(side.runs[0].head, "", "%Y-%m-%d %H:%M")
        rest = f", {runs}{n} {'execution' if n == 1 else 'executions'}"
        if when and width >= _WIDE_ENOUGH_FOR_DATES:
            rest += f", {when}"
        label_most = max(min(_LABEL_MOST, width - len(rest) - _COMMAND_LEAST - 10), _LEAST_NAME)
        name = f"{word:<6}  {shortened(printable(side.label), label_most)}: "
        lines.append(name + cut(command, max(width - len(name) - len(rest), _COMMAND_LEAST)) + rest)
    return lines


def _table(rows: Iterable[ComparisonRow], first: str, width: int) -> list[str]:
    judged = [row for row in rows if not row.unjudged]
    table = [_HEADS, *(_cells(row) for row in judged)] if judged else []
    longest = max((len(printable(row.metric)) for row in judged), default=0)
    least = min(_LEAST_NAME, longest)
    # The range is the first to go, then how sure a verdict is: --json has both.
    if _room(table, width) < least:
        table = [(*row[:_REACH], *row[_REACH + 1 :]) for row in table]
    if _room(table, width) < least:
        verdicts = (_HEADS[-1], *(row.verdict or "." for row in judged))
        table = [(*row[:-1], word) for row, word in zip(table, verdicts, strict=True)]
    room = _room(table, width)
    widest = _widths(table)
    names = max(min(room, longest), _LEAST_NAME)
    right = [
        tuple(cell.rjust(wide) for cell, wide in zip(row, widest, strict=True)) for row in table
    ]
    lines = []
    for at, row in enumerate(right):
        name = first if at == 0 else shortened(printable(judged[at - 1].metric), names)
        # The verdict is a word, flush left.
        line = "  ".join((name.ljust(names), *row[:-1], row[-1].strip()))
        lines.append(" " * _INDENT + line)
    return lines


def _widths(table: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(*table, strict=True)]


def _room(table: Sequence[Sequence[str]], width: int) -> int:
    """Return what is left of a line for the name of a metric."""
    widest = _widths(table)
    return width - _INDENT - sum(widest) - _GAP * len(widest)


def _cells(row: ComparisonRow) -> tuple[str, ...]:
    change, low, high = shares(row)
    reach = f"{low.removesuffix(' %')} … {high.removesuffix(' %')}" if low and high else ""
    return (
        _value(row.before, row),
        _value(row.after, row),
        change or _appeared(row),
        reach,
        verdict(row) or ".",
    )


def _value(value: float | None, row: ComparisonRow) -> str:
    # A long unit is left out: there is no room for it twice, and the name says it.
    return quantity(
        value, row.unit if len(row.unit) <= _UNIT_MOST or row.unit.startswith("bytes") else "", "-"
    )


def _appeared(row: ComparisonRow) -> str:
    if not row.before and row.after:
        return "new"
    return "-"


def _unjudged(rows: Sequence[ComparisonRow], width: int) -> list[str]:
    """Return the values that are not judged, those that share a reason together."""
    by_reason: dict[str, list[ComparisonRow]] = {}
    for row in rows:
        if row.unjudged:
            by_reason.setdefault(row.unjudged, []).append(row)
    lines: list[str] = []
    for why, some in by_reason.items():
        lines += ["", *filled(f"not judged: {printable(why)}", width)]
        table = [
            (
                _value(row.before, row),
                _value(row.after, row),
                shares(row)[0] or _appeared(row),
                printable(row.metric),
            )
            for row in some
        ]
        room = width - _INDENT - sum(
            max(len(head), *map(len, column)) + _GAP
            for head, column in zip(("before", "after", "change"), zip(*table, strict=True),
                                    strict=False)
        )  # fmt: skip
        table = [(*row[:3], shortened(row[3], max(room, _UNJUDGED_LEAST))) for row in table]
        lines += grid([("before",), ("after",), ("change",), ("metric",)], table, 3).lines
    return lines


def _places(comparison: Comparison, width: int, top: int) -> list[str]:
    per = comparison.per
    lines: list[str] = []
    for metric in dict.fromkeys(row.metric for row in comparison.places):
        of_metric = [row for row in comparison.places if row.metric == metric]
        rows = [row for row in of_metric if row.unjudged or row.before != row.after]
        shown = rows[:top] if top else rows
        lines += [""] if lines else []
        if not rows:
            lines.append(f"{printable(metric)}: no {per} differs")
            continue
        lines += _of_metric(metric, shown, comparison, width)
        if len(rows) > len(shown):
            lines.append(f"  and {number(len(rows) - len(shown))} more (--top 0 for all)")
        if len(of_metric) > len(rows):
            lines.append(f"  and {number(len(of_metric) - len(rows))} that do not differ")
    if not lines:
        lines += filled(f"neither side has values of each {per} that could be compared", width)
    elif comparison.small:
        lines += filled(
            f"{number(comparison.small)} with less than 0.1 % of the total on both sides "
            "are left out",
            width,
        )
    return lines


def _of_metric(
    metric: str, rows: Sequence[ComparisonRow], comparison: Comparison, width: int
) -> list[str]:
    heads = ["before", "after", "change", "of total", "verdict"]
    total = comparison.totals.get(metric, 0.0)
    cells: list[tuple[str, ...]] = []
    for row in rows:
        of_total = ((row.after or 0.0) - (row.before or 0.0)) / total if total else None
        said = verdict(row) or ("not judged" if row.unjudged else ".")
        numbers = (_cells(row)[0], _cells(row)[1], _cells(row)[2])
        cells.append((*numbers, "-" if of_total is None else notation([of_total])(of_total), said))
    widest = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    if width - _INDENT - sum(widest) - _GAP * len(widest) < _LEAST_PLACE:
        cells = [(*row[:_OF_TOTAL], *row[_OF_TOTAL + 1 :]) for row in cells]
        del heads[_OF_TOTAL], widest[_OF_TOTAL]
    room = max(width - _INDENT - sum(widest) - _GAP * len(widest), _LEAST_PLACE)
    labels = suffixes({row.place[2] for row in rows})
    per = comparison.per
    kinds = {row.place[0] for row in comparison.places} if per == "region" else set()
    table = [
        (
            *row_cells[:-1],
            row_cells[-1].ljust(widest[-1]),
            _place(row, per, labels, room, len(kinds)),
        )
        for row, row_cells in zip(rows, cells, strict=True)
    ]
    lines = [f"{printable(metric)} of each {per}:"]
    lines += grid([(head,) for head in (*heads, per)], table, len(heads) - 1).lines
    lines += _reasons(rows, width)
    return lines


def _reasons(rows: Sequence[ComparisonRow], width: int) -> list[str]:
    whys = dict.fromkeys(row.unjudged for row in rows if row.unjudged)
    return [line for why in whys for line in filled(f"not judged: {printable(why)}", width)]


def _place(row: ComparisonRow, per: str, labels: dict[str, str], width: int, kinds: int = 0) -> str:
    program, name, file, line = row.place
    if per == "region":
        return shortened(printable(f"{program}: {name}" if kinds > 1 else name), width)
    file = printable(labels.get(file, file)) or "(unknown)"
    if per == "file":
        return short_path(printable(row.place[2]) or file, width)
    if per == "line":
        return short_path(f"{file}:{line}" if line else file, width)
    if per == "function":
        return short_name(printable(name) or f"(unknown) {file}", width)
    if per == "rank":
        return f"rank {line}"
    return shortened(printable(name) + (f" #{line}" if line > 1 else ""), width)


def _limits(breaches: Sequence[Breach], width: int) -> list[str]:
    if not breaches:
        return filled("--fail-on: nothing is significantly worse by more than the limit", width)
    lines = []
    for breach in breaches:
        change = "new" if breach.change is None else notation([breach.change])(breach.change)
        said = f"--fail-on: {breach.metric} of {breach.side} is {change}, significantly beyond "
        lines += filled(printable(said) + bare(breach.share), width, "", "  ")
    return lines

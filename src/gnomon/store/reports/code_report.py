"""A profile by function, module, file or line as a table that fits the terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from gnomon.model.symbol_names import short_name
from gnomon.named_tuple import NamedTuple
from gnomon.store.call_paths import Code
from gnomon.store.reports.code_rows import (
    CodeMetric,
    CodeRow,
    CodeTable,
    module_text,
    sampling_error,
)
from gnomon.store.reports.run_facts import title
from gnomon.store.reports.table_report import GAP, INDENT, UNKNOWN
from gnomon.store.run import Run
from gnomon.terminal_text import filled, grid, heading, short_path, shortened, suffixes
from gnomon.units import number, printable, quantity

_NAME_LEAST = 24
_MODULE_MOST = 16
# Columns that go first where there is no room for the names.
_GIVEN_UP = ("samples", "module", "total")


class _Column(NamedTuple):
    """A column: the lines of its heading, and its cells."""

    name: str
    head: tuple[str, ...]
    cells: list[str]
    is_text: bool = False

    @property
    def width(self) -> int:
        """What it takes with the gap before it."""
        return max(map(len, (*self.head, *self.cells))) + GAP


def code_text(
    run: Run,
    table: CodeTable,
    by: str,
    *,
    width: int,
    top: int = 0,
    threshold: float = 0.0,
    others: Sequence[str] = (),
    charged: str = "",
) -> str:
    """Return the rows of the first metric, those with most first, with shares of the others.

    Args:
        run: the run.
        table: its rows.
        by: what they are.
        width: columns of the terminal.
        top: only so many rows; 0 for all.
        threshold: only rows with so many percent of the first metric.
        others: names of metrics that it could have been of.
        charged: what is to be added to what the values are.
    """
    lines = [title(run, width)]
    if not table.metrics:
        lines += filled(f"this run has no values of each {by} that could be added up", width)
        return "\n".join(lines) + "\n"
    first = table.metrics[0]
    rows = above(table.rows[first.name], first, threshold)
    shown = rows[:top] if top else rows
    lines.append(printable(f"{first.name} by {by}, {first.how}{charged}"))
    columns = _columns(table, shown, by)
    for name in _GIVEN_UP:
        if sum(one.width for one in columns) + _NAME_LEAST + INDENT + GAP <= width:
            break
        columns = [one for one in columns if one.name != name]
    room = max(width - INDENT - sum(one.width for one in columns), _NAME_LEAST)
    names = _Column(by, (by,), _names(shown, by, room), is_text=True)
    numbers = [one for one in columns if not one.is_text]
    texts = [names, *(one for one in columns if one.is_text)]
    cells = list(zip(*(one.cells for one in (*numbers, *texts)), strict=True))
    lines += grid([one.head for one in (*numbers, *texts)], cells, len(numbers)).lines
    if len(rows) > len(shown):
        lines.append(f"  and {number(len(rows) - len(shown))} more (--top 0 for all)")
    if len(rows) < len(table.rows[first.name]):
        below = number(len(table.rows[first.name]) - len(rows))
        lines.append(f"  and {below} with less than {number(threshold)} %")
    lines += _legend(table, width)
    rest = [name for name in others if name not in table.rows]
    if rest:
        lines += filled(printable(f"choose with -e: {', '.join(rest)}"), width, "", "  ")
    return "\n".join(lines) + "\n"


def above(rows: Sequence[CodeRow], metric: CodeMetric, threshold: float) -> list[CodeRow]:
    """Return the rows with at least so many percent of the program's value themselves."""
    least = threshold / 100 * metric.whole
    return [row for row in rows if not threshold or (row.own or 0.0) >= least]


def share_text(row: CodeRow, metric: CodeMetric) -> str:
    """Return the share that a row has itself, of samples with its standard error."""
    if row.own is None or not metric.whole:
        return "-"
    share = f"{100 * row.own / metric.whole:.1f}"
    if not metric.is_sampled or row.samples is None or (row.own and not row.samples):
        return f"{share} %"
    return f"{share} ±{100 * sampling_error(row, metric):.1f} %"


def _columns(table: CodeTable, shown: Sequence[CodeRow], by: str) -> list[_Column]:
    first, *more = table.metrics

    def values(of: Callable[[CodeRow], float | None]) -> list[str]:
        return [quantity(of(row), first.unit, "-") for row in shown]

    columns = [
        _Column("share", ("of total",), [share_text(row, first) for row in shown]),
        _Column("self", ("self",), values(lambda row: row.own)),
    ]
    if any(row.total is not None for row in shown):
        columns.append(_Column("total", ("total",), values(lambda row: row.total)))
    if first.is_sampled:
        samples = [number(row.samples, "-") for row in shown]
        columns.append(_Column("samples", ("samples",), samples))
    for metric in more:
        by_code = {row.code: row for row in table.rows[metric.name]}
        cells = [_share(by_code.get(row.code), metric) for row in shown]
        columns.append(_Column(metric.name, (*heading(printable(metric.name)), "%"), cells))
    modules = [module_text(row.code) for row in shown]
    if by in ("function", "line") and any(modules):
        cells = [shortened(printable(module), _MODULE_MOST) or UNKNOWN for module in modules]
        columns.append(_Column("module", ("module",), cells, is_text=True))
    return columns


def _share(row: CodeRow | None, metric: CodeMetric) -> str:
    if row is None or row.own is None or not metric.whole:
        return "."
    return f"{100 * row.own / metric.whole:.1f}"


def _names(shown: Sequence[CodeRow], by: str, room: int) -> list[str]:
    files = suffixes({row.code.file for row in shown})
    return [code_name(row.code, by, files, room) for row in shown]


def code_name(code: Code, by: str, files: Mapping[str, str], room: int) -> str:
    """Return what code is called in a column of so many characters.

    Args:
        code: the code.
        by: what it is.
        files: a short name for each file.
        room: the width of the column.
    """
    name = printable(code.function) or UNKNOWN
    if by == "function":
        return short_name(name, room)
    if by == "module":
        return shortened(printable(code.module) or UNKNOWN, room)
    file = printable(files.get(code.file, code.file)) or UNKNOWN
    if by == "file":
        return short_path(file, room)
    if not code.file:
        return short_name(name, room)
    place = short_path(f"{file}:{code.line}" if code.line else file, room * 2 // 3)
    left = room - len(place) - 1
    return f"{place} {short_name(name, left)}" if left >= min(len(name), 6) else place


def notes(table: CodeTable) -> list[str]:
    """Return why some rows have no total."""
    told = []
    for metric in table.metrics:
        rows = table.rows[metric.name]
        unknown = [row for row in rows if row.total is None]
        if unknown and len(unknown) == len(rows):
            told.append(table.no_totals)
        elif unknown:
            told.append(
                "no total of what was measured within another call of it, but not around that"
            )
    return list(dict.fromkeys(told))


def _legend(table: CodeTable, width: int) -> list[str]:
    lines: list[str] = []
    first = table.metrics[0]
    if first.is_sampled:
        told = f"{number(first.samples)} samples; ± is the standard error of a share"
        lines += filled(told, width)
    for note in notes(table._replace(metrics=table.metrics[:1])):
        lines += filled(note, width)
    return lines
